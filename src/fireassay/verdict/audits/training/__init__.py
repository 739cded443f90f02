"""What can be wrong with a training run?"""
