"""How is the answer found in a model's text?  One file with EXTRACTOR each; nothing lists them elsewhere."""
