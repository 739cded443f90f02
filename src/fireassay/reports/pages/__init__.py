"""What does a page show?

One file for each subject that has a page.
"""
