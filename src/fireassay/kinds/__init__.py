"""Which kinds of records are there?  One folder per kind; nothing lists it elsewhere."""
