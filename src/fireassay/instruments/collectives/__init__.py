"""How do we time collectives and check their results?

The only assay program that the user's engine starts.
"""
