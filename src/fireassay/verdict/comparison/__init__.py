"""Which record is better, by how much, and are they comparable at all?"""
