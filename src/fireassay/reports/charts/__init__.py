"""Which charts does a report have?

One file per chart, each a function from the view to a drawing or to the reason for its absence.
"""
