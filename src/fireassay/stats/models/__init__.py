"""Which model do the values follow, and what does it predict?"""
