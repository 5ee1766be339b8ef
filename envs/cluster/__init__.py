"""The environment service on a Ray cluster: one on each node, and a directory of them."""
