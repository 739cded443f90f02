"""Which frames do the metrics of a training share?"""
