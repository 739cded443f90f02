"""Is a run alive, and how far is it?"""
