"""Sessions: tasks, tools, rewards and the wire. This package never imports a model library."""
