"""What do the readers of traces share?"""
