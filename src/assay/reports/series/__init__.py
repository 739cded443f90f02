"""Which series do the charts show?"""
