"""Which charts show training?"""
