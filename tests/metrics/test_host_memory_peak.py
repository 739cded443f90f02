"""host_memory_peak: the largest rank's, of every launch."""

from __future__ import annotations

from assay.metrics.host_memory_peak import METRIC
from tests.metrics.peaks import check_that_the_rank_that_needed_most_counts, check_that_what_nobody_told_is_absent


def test_the_rank_that_needed_most_counts() -> None:
    check_that_the_rank_that_needed_most_counts(METRIC, "memory_peak")


def test_what_nobody_told_is_absent() -> None:
    check_that_what_nobody_told_is_absent(METRIC)
