"""How do numbers reach a program through its own library, or over the network?  One `SENDER` per file; imported on use only."""
