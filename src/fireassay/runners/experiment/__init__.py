"""How does an experiment run from the first launch to the seal?"""
