"""Which names does `assay` promise?  Changing this list is a decision, not an accident."""

from __future__ import annotations

import fireassay
from fireassay.exit_codes import EXIT_CODES


def test_the_public_names_are_these() -> None:
    classes = ["Absent", "Chart", "Comparison", "Estimate", "Experiment", "Record", "Verdict"]
    functions = [
        "callbacks",
        "comm",
        "compare",
        "errors",
        "evaluate",
        "fleet",
        "load",
        "open",
        "probe",
        "profile",
        "read_experiment",
        "run",
        "score",
        "simulate",
        "testing",
        "time",
    ]
    assert sorted(fireassay.__all__) == [*classes, "__version__", *functions]


def test_every_public_name_resolves() -> None:
    missing = [name for name in fireassay.__all__ if getattr(fireassay, name, None) is None]
    assert missing == []


def test_a_name_that_is_not_public_is_refused_as_for_any_module() -> None:
    assert not hasattr(fireassay, "Trainer")


def test_the_exit_codes_are_these() -> None:
    assert sorted(EXIT_CODES) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130, 141]
