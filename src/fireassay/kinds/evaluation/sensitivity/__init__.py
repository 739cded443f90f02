"""Could these items have shown a loss?"""
