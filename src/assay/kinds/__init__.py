"""THE KINDS OF A RECORD: one folder for each, with what is judged and shown of it."""
