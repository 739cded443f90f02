"""What do the metrics of a load share?"""
