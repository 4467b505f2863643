"""Services for the conversion to a backend's dialect: patterns from converters, motion of transposes."""
