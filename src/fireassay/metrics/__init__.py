"""Which numbers, with intervals, follow from a record?"""
