"""Which charts does a report have?

Each is a function from the view to its charts, or to the reason why there is none.
"""
