"""WHAT measures: in-process probes and counters; the only place where torch is imported, lazily."""
