"""Helpers of the writers."""
