"""Which results of other load generators can be read?  One file for each tool."""
