"""The pictures of a report: one file per picture, each a function from the view to a drawing or to why there is none."""
