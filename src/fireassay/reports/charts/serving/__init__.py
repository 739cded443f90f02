"""Which charts show a load?"""
