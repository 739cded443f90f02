"""Which rows do pages show?  Frozen rows with values, made from a judgement."""
