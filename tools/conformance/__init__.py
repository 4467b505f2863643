"""The conformance suite: judges a backend by its table, on graphs drawn from the samples of the operators in it."""
