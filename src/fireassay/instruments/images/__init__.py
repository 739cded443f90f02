"""How are images read, and which local models and engines score them?"""
