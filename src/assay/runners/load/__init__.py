"""How is a load put on engines, and how are they started and broken?"""
