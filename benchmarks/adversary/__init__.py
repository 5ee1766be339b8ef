"""The red team: attacks on a running service, while honest sessions play on. See `benchmarks.adversary.__main__`."""
