"""Which results of a record say something about a call?"""

from __future__ import annotations

from typing import Final

from assay.metrics.base import Results

NAMES: Final = ("trial_time", "trial_cpu_time", "trial_memory")  # what such a record is about; the rest says nothing of it


def own(results: Results) -> Results:
    """The results that say something about a call."""
    return {name: results[name] for name in NAMES if name in results}
