"""Which content does each request send?"""
