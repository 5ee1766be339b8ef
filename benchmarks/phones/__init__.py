"""How quick and how light simulated phones are."""
