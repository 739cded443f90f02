"""Pure functions from a record to numbers with intervals, in families."""
