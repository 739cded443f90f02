"""Are this machine and this client fit to measure?"""
