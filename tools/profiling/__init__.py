"""What profiles look like: a table, JSON, a trace."""
