"""Which results of other load generators can be imported?  One file per tool."""
