"""How does a rank record its steps?"""
