"""What makes and times collectives, and checks their data?  The only program of assay that a user's engine starts."""
