"""What do several launchers share?"""
