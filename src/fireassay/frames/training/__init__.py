"""Which frames do the metrics of training share?"""
