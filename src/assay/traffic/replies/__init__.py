"""What does an answer say?"""
