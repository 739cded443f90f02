"""How are the files of an untrusted record read?"""
