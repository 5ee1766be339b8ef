"""Read-only SQL: queries written by models, run in processes that cannot write, open or outlive anything."""
