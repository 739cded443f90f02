"""Which records are there, what was their verdict, and which pages show them all?"""
