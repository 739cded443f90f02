"""How are a record's files read when somebody else made them?"""
