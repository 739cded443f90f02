"""HOW it is driven: one file per runner."""
