"""Which meters of energy does this machine have?  One file per source, with `SOURCE`; nothing lists them elsewhere."""
