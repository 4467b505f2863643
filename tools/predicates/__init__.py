"""Predicates: the property of a module that flambeau bisect looks for and flambeau reduce keeps."""
