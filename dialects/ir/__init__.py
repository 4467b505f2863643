"""Services over IR of any dialect: tensor types, diagnostics, symbols, verification, dominance, equivalence."""
