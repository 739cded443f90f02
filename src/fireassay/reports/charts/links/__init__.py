"""Which charts show collectives and links?"""
