"""Samples: for each operator, arguments with which to try it."""
