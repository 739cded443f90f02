"""Is the result good enough?"""
