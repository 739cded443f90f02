"""Which scores are there?  One file with METRIC each; nothing lists them elsewhere."""
