"""What do other programs read?

One JSON document for each subject that has a page.
"""
