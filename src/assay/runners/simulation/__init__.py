"""What would a cluster do, were it exactly known?"""
