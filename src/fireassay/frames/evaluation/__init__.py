"""Which derived tables do the metrics of an evaluation share?"""
