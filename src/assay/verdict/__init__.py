"""SO WHAT: is the record admissible, is it good enough, and what is recommended?"""
