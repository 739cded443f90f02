"""Which items does a file of a benchmark hold?  One file with FORMAT per layout; data is always the user's, nothing is downloaded."""
