"""Is the speedup what it seems?"""
