"""Where do the workers run, one file per launcher?"""
