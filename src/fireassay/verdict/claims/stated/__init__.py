"""What does a published number mean: its kind, unit, statistic, claimed gain and objective?

Derived from names, units and words of a claim file, without judging: the audits of claims judge. Cannot tell: the meaning of a name
without any of the usual words; such a number has no kind, and audits that need one pass.
"""
