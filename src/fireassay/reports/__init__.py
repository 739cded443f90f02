"""How is a record shown?  One file per report; numbers are formatted only in view."""
