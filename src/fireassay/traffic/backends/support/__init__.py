"""What do several backends share?"""
