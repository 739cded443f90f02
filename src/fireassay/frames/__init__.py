"""Which frames, derived from a record's tables, do several metrics share?"""
