"""The commands that measure programs, and what they print: a table, JSON, a trace."""
