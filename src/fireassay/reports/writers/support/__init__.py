"""What do several writers share?"""
