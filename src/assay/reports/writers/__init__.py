"""HOW A PAGE BECOMES A FILE: one walk over it per format."""
