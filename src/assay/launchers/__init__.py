"""WHERE it runs: one file per launcher."""
