"""What is an experiment before anything runs, and what is its plan?"""
