"""What would a cluster do if it were exactly known?"""
