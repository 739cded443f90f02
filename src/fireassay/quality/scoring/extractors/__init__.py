"""How is the answer found in a model's text?  Families: a file with EXTRACTORS each; nothing lists them elsewhere."""
