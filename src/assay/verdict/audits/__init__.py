"""Is the run admissible? One file per audit."""
