"""Which record is better, by how much, and may one ask at all?"""
