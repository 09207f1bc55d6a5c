"""Blocks of rows, sums over them, normal draws, vector functions and threads."""
