"""What do the importers of several tools share?"""
