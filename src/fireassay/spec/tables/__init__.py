"""What does an external table of timings say?"""
