"""What is asked, written down before anything runs?

The experiment and its plan.
"""
