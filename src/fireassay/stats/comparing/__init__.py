"""Do two groups of values differ, and by how much?"""
