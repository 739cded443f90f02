"""Under which conditions was a record made?"""
