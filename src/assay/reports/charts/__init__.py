"""Charts of a report: one file per chart, each a function from the view to a drawing or to the reason for its absence."""
