"""What people see of diagnostics, with rich."""
