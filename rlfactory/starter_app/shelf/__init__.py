"""An app for simulated phones, and tasks over it."""
