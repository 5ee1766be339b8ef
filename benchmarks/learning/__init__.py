"""What credit, rows and curricula are worth in environment steps."""
