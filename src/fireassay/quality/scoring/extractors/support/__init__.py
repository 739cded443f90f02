"""Which parts of a text can hold the answer, and how are the numbers in it read?  Shared by the extractors."""
