"""WHAT HAPPENED: the sealed folder with all raw measurements of one experiment; the only durable truth."""
