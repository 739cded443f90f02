"""WHAT breaks: one file per fault."""
