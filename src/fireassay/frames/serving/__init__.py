"""Which frames do the metrics of a load share?"""
