"""Dialects: one file with one `BACKEND` each."""
