"""Helpers of the sources: the accumulator, what a source is, and the joules of a launch."""
