"""What is shown?

One file for each subject that has a page.
"""
