"""certificates: a load that checked nobody's certificate says so in every report, and a comparison names it."""

from __future__ import annotations

import io
import zipfile

import pytest

from fireassay.reports.build_view import build
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge
from tests.reports.written import content
from tests.serving_made import ServingMade
from tests.verdict.served import found, steady

pytestmark = pytest.mark.slow


def made(*, verified: bool) -> ServingMade:
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, client={"verify_tls": verified})
    steady(record, ttft_s=0.1, gap_s=0.01, tokens_out=10)
    return record


def test_unchecked_certificates_are_a_warning_and_checked_ones_are_nothing() -> None:
    (finding,) = found("certificates", made(verified=False).measured())
    assert (finding.rule, finding.severity) == ("certificates_unchecked", "warning")
    assert found("certificates", made(verified=True).measured()) == ()


@pytest.mark.parametrize("name", ["terminal", "html", "markdown", "latex", "excel", "json"])
def test_every_report_shows_it(name: str) -> None:
    for verified in (True, False):
        measured = made(verified=verified).measured()
        shown = content(build(measured, judge(measured)), name)
        assert ("no-verify-tls" in _text(shown)) is not verified


def _text(content: str | bytes) -> str:
    if isinstance(content, str):
        return content.replace("{", "").replace("}", "")
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        return "".join(book.read(name).decode("utf-8", "replace") for name in book.namelist())


def test_a_comparison_names_it_as_a_condition_that_differs() -> None:
    sides = []
    for verified in (True, False):
        measured = made(verified=verified).measured()
        sides.append(Side(label=str(verified), measured=measured, judgement=judge(measured)))
    mismatches = {one.field: one.kind for one in compare(tuple(sides)).mismatches}
    assert mismatches["serving.client.verify_tls"] == "condition"
