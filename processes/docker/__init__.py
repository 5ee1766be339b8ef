"""Containers of ours on a Docker engine: made with labels, limits and a network of their own, found and reaped."""
