"""How well does this machine or this client measure?"""
