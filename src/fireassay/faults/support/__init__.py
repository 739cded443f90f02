"""What do several faults share?"""
