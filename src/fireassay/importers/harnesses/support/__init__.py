"""What do the readers of harnesses share?"""
