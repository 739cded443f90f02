"""How do the results of other programs become records?  One file per program; they read files and run nothing."""
