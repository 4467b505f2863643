"""Instruments: what watches pipelines and compares the results of modules, for the command-line tools."""
