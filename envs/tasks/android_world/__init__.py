"""AndroidWorld's tasks, judged by its own code: `checkout` starts it, `tasks` offers them."""
