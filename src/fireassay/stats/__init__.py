"""Which mathematics do metrics and verdicts rest on?

Pure functions, without domain terms.
"""
