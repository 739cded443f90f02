"""How long does a call, a command or a generation take?"""
