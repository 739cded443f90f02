"""Which columns has each table of a record?"""
