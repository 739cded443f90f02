"""transport: the library's path is a note, mixed paths are a warning."""

from __future__ import annotations

import polars as pl
import pytest

from tests.verdict.served import changed, clean, found, rules

pytestmark = pytest.mark.slow


def test_the_lean_path_needs_no_word() -> None:
    assert found("transport", clean()) == ()


def test_the_librarys_path_is_a_note() -> None:
    library = changed(clean(), "requests", lambda frame: frame.with_columns(transport=pl.lit("library")))
    assert rules("transport", library) == [("library_transport", "note")]


def test_two_paths_in_one_record_are_a_warning() -> None:
    path = pl.when(pl.col("request") % 4 == 0).then(pl.lit("library")).otherwise(pl.col("transport"))
    (finding,) = found("transport", changed(clean(), "requests", lambda frame: frame.with_columns(transport=path)))
    assert (finding.rule, finding.severity) == ("transports_mixed", "warning")
    assert "% lean" in finding.evidence
    assert "% library" in finding.evidence
