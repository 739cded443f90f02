"""HOW IT IS SHOWN: one file per report; numbers are formatted in view alone."""
