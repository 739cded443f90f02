"""What if a script imports Flash Attention and has no GPU?  Names that nobody calls."""
