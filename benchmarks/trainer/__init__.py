"""What the trainer claims, measured; see `benchmarks/README.md`."""
