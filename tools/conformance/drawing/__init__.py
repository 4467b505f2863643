"""Random graphs for a backend, drawn from the samples of its operators."""
