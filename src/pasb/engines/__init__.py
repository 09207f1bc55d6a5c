"""Where chains run: in threads here, or as one batch on a GPU."""
