"""How well were requests served?  One file per family of metrics of a load."""
