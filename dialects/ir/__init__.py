"""Services over IR of any dialect: tensor types, diagnostics, symbols, weights, verification, dominance, equivalence."""
