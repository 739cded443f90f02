"""Which harnesses' per-item logs become evaluations?  One file with HARNESS each; nothing lists them elsewhere."""
