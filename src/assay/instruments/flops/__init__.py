"""How many floating-point operations does a step need, and how fast can the device be?"""
