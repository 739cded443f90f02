"""Which charts show a training?"""
