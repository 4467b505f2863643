"""The results of a module, compared with the results of its later forms."""
