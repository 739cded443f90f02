"""Is a record complete, unchanged and by whom?"""
