"""The environment service on a Ray cluster, measured."""
