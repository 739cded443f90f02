"""What does a published number mean: its kind, its unit, its statistic, the gain it claims, the objective it is held against?

Read from the names, units and words of a claim file, without judging: the audits of claims judge.  Cannot tell: what a name means that
has none of the usual words; such a number is of no kind, and audits that ask for one pass.
"""
