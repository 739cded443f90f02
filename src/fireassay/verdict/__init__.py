"""Verdicts: is the record admissible, is the result good enough, and what is recommended?"""
