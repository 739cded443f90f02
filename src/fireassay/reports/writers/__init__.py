"""How does a page become a file?

One walk over the page per format.
"""
