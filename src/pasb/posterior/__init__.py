"""What a fitted model knows: predictions, order, coefficients, diagnostics."""
