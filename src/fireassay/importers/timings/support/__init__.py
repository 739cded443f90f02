"""Helpers of the importers of timing tools."""
