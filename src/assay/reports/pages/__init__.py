"""WHAT IS SHOWN: one file for each thing that has a page."""
