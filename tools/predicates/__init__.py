"""Predicates: the property of a module that flambeau bisect searches for and flambeau reduce keeps."""
