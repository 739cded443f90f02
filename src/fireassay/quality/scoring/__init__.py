"""How good is an answer?  Pure functions of texts: extraction, and scores that carry a signature of everything that moves them."""
