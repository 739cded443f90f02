"""Which profilers' traces become profiled launches?  One file with PROFILER each; nothing lists them elsewhere."""
