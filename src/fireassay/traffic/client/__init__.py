"""How does a client process send and log a load?"""
