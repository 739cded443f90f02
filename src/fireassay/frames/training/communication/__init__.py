"""How long do the collectives of a training step take, and what do they send?"""
