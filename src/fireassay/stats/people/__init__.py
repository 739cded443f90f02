"""What do ratings and choices of people show?"""
