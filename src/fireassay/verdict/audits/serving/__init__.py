"""What can be wrong with a load?"""
