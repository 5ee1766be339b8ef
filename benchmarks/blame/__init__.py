"""What a model can write, and who is blamed for what comes of it: `python -m benchmarks.blame`."""
