"""What do the runners of evaluations share?"""
