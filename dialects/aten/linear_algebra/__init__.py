"""Products, factorizations, norms and spectra of matrices."""
