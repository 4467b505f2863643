"""Instruments: what watches a pipeline for the command-line tools. Each is an `Instrumentation`, of which no pass knows."""
