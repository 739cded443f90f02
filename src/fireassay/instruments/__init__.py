"""How does assay measure from inside a process?

Probes, hooks and counters. torch is imported nowhere else, and only lazily.
"""
