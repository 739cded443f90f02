"""Is the run admissible?"""
