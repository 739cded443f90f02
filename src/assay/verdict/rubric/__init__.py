"""What does a table of timings from elsewhere amount to?"""
