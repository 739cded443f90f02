"""Which kinds of request can a load send, as families: a file with `TASKS`?"""
