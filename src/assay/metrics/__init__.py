"""Pure functions from a record to numbers with intervals. One metric, one file."""
