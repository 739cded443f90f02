"""What do several scores share?"""
