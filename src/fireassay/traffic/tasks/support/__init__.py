"""What do several tasks share?"""
