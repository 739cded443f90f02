"""Which fields contradict each other?"""
