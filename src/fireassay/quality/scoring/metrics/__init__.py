"""Which scores are there?  Families: a file with METRICS each; nothing lists them elsewhere."""
