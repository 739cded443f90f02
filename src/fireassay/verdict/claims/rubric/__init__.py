"""What follows from an external table of timings?"""
