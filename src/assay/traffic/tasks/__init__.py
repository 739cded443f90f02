"""What is asked of an engine: one file with one `TASK` each."""
