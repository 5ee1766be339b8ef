"""Episodes through a network that breaks: `python -m benchmarks.network`."""
