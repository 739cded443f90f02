"""What can be wrong with collectives and networks?"""
