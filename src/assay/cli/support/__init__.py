"""What do several verbs share, and which parts of one verb are worth a file of their own?"""
