"""What do the events of a training say about its steps? Pure, and without torch: the measured process and a reader both import it."""
