"""Which columns does each table of a record have?"""
