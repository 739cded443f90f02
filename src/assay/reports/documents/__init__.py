"""WHAT OTHER PROGRAMS READ: one JSON document for each thing that has a page."""
