"""How are secrets kept out of a record?"""
