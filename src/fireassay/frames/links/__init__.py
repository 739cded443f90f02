"""Which frames do the metrics of collectives and of the network share?"""
