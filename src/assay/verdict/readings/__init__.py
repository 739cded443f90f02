"""Where do the values of the conditions come from?  One file for each kind of source."""
