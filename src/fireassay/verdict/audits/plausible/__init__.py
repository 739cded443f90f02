"""Could this record's rows have been measured at all?"""
