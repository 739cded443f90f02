"""Pure mathematics, no domain words."""
