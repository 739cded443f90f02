"""Which rules has MLPerf published?  The tables of its rounds; facts with their sources, in TOML next to this file."""
