"""Is a record complete and unchanged, and who sealed it?"""
