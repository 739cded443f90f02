"""Every report says which record it was made from: the seal's digest, in every writer, of every kind of record."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from functools import cache

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.reports.build_view import build
from fireassay.reports.view import View
from fireassay.verdict.judge import Judgement, judge
from tests import builders
from tests.reports.written import content
from tests.serving_made import simulated
from tests.tiers import some

pytestmark = pytest.mark.slow


SEAL = "0123456789abcdef" * 4
MEASURED = {"training": builders.measured, "serving": lambda: simulated(rate=(6.0,), seconds=4.0, seed=3).measured()}


@pytest.mark.parametrize("kind", MEASURED)
@pytest.mark.parametrize("name", some(["terminal", "html", "markdown", "latex", "excel", "json"], 4))
@pytest.mark.deep
def test_the_seal_stands_in_this_report(name: str, kind: str) -> None:
    for seal, shown in ((SEAL, True), ("", False)):
        assert (SEAL in _text(content(view(kind, seal), name))) is shown


def test_json_names_it_by_its_key_and_an_unknown_one_is_null() -> None:
    for seal, value in ((SEAL, SEAL), ("", None)):
        told = json.loads(content(view("training", seal), "json"))
        assert told["record"]["seal"] == value


@cache
def view(kind: str, seal: str) -> View:
    """The writers only read it."""
    measured, judgement = judged(kind)
    return build(replace(measured, seal=seal), judgement)


@cache
def judged(kind: str) -> tuple[RecordData, Judgement]:
    """No judgement depends on the seal."""
    measured = MEASURED[kind]()
    return measured, judge(measured)


def _text(content: str | bytes) -> str:
    if isinstance(content, bytes):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            content = "".join(book.read(name).decode("utf-8", "replace") for name in book.namelist())
    return re.sub(r"\s+|\\allowbreak\{\}", "", content)  # a narrow page breaks it
