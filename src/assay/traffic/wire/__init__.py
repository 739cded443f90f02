"""How do bytes leave and arrive, and when?"""
