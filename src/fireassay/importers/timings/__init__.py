"""Which timing tools' files can be imported?"""
