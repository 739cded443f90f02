"""Which commands are there?  One file per verb; nothing lists it elsewhere."""
