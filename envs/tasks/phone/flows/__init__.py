"""How the oracles get about in each app. They go by what is on the screen only."""
