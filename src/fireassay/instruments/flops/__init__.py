"""How many FLOPs does a step need, and what is the device's peak?"""
