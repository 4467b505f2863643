"""Instruments that watch a pipeline for the command-line tools. Each is an `Instrumentation`; passes do not know them."""
