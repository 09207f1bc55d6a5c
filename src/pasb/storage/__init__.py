"""Files that are whole or not there: the format, checksums, and folders of checkpoints."""
