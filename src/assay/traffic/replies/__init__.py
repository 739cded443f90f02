"""How are replies parsed?"""
