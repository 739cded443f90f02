"""Whose results can be imported?"""

from __future__ import annotations

from typing import Final

from fireassay import catalog

HARNESSES: Final = catalog.names("importers.harnesses")
TIMERS: Final = catalog.names("importers.timings")
PROFILERS: Final = catalog.names("importers.profiles")
OTHERS: Final = ("nccl_tests", "osu", "mllog")  # whose results are no loads
EVERY: Final = (*catalog.names("importers"), *OTHERS, *HARNESSES, *TIMERS, *PROFILERS)
PACKAGES: Final = ("importers", "importers.harnesses", "importers.timings", "importers.profiles")
