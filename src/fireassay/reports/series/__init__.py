"""Which data series do the charts show?"""
