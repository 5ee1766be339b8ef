"""Where code that a model wrote runs: a container a session, and nowhere else."""
