"""What happened in an experiment?  The sealed folder with all its raw measurements; the only durable truth."""
