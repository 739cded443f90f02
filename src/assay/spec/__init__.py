"""WHAT IS ASKED: the experiment, written down before anything runs, and its plan."""
