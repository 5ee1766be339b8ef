"""Whether a verdict means what it says: `python -m benchmarks.trust`. Each check is one module of this package."""
