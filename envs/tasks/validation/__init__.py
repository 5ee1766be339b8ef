"""Whether a task can be trusted: checks of templates, and what they try on them."""
