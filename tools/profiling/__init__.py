"""The commands that measure programs, and their output: a table, JSON, a trace."""
