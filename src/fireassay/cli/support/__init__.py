"""What do several verbs share, and which parts of one verb deserve a file of their own?"""
