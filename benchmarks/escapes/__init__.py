"""What hostile SQL and hostile code achieve: `python -m benchmarks.escapes`."""
