"""From a user's table to the columns of a binary model."""
