"""Phones. This package knows devices and never tasks, sessions or models."""
