"""Which helpers do the metrics of a load share?"""
