"""Sweeps, chains and runs: a sweep is a list of moves, a chain a series of sweeps."""
