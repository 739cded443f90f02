"""Which pages show many records, and how do they lead to each other?"""
