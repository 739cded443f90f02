"""Where is each condition of a record read from?"""
