"""Is it good enough? One file per gate."""
