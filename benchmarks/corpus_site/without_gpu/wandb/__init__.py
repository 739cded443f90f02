"""What if a script imports wandb and does not use it?  A name."""
