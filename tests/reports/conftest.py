"""The view of the synthetic record, its pictures and its page: each made once for all tests of reports."""

from __future__ import annotations

import pytest

from assay.reports import charts, html
from assay.reports.view import View, build
from tests import builders


@pytest.fixture(scope="session")
def view() -> View:
    """The synthetic record with a failed launch, judged by hand."""
    return build(builders.measured(failed=True), builders.judgement())


@pytest.fixture(scope="session")
def pictures(view: View) -> dict[str, charts.Picture]:
    """Its pictures by name."""
    return {picture.name: picture for picture in charts.draw(view)}


@pytest.fixture(scope="session")
def page(view: View) -> str:
    """Its page."""
    return html.render(view)
