"""HOW A COMPARISON IS SHOWN: one tree of texts, and a terminal page, Markdown, HTML and JSON made from it."""
