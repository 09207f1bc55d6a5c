"""Moves: each leaves the posterior of order and coefficients invariant, one a file."""
