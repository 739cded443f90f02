"""Which limits can an evaluation be held to?"""
