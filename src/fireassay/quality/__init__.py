"""How good are answers?  Scores, the items of benchmark files, and a sandbox for code that nobody trusts."""
