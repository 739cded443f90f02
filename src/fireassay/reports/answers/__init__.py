"""What does a reader want first of a comparison, a check, a timing, an audit ...?  One module for each page that answers."""
