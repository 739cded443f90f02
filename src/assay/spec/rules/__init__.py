"""Which fields contradict one another?"""
