"""How is a workload driven?  One file per runner."""
