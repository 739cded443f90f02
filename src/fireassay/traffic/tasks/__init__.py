"""Which kinds of request can a load send, one file with one `TASK` each?"""
