"""Is an engine that hangs left alone?  What is compared: tests/runners/evaluating/test_forcing.py."""

from __future__ import annotations

import pytest

from fireassay.runners.evaluating import forcing, likelihood
from fireassay.runners.evaluating.forcing import PATIENCE, Address, echoed_sides
from fireassay.spec.sections.serving import Target
from tests.echo_engine import echo_engine
from tests.runners.evaluating.dripping_engine import dripping
from tests.runners.evaluating.echo_replica import likely


def address(url: str) -> Address:
    return Address(target=Target.model_validate({"name": "a", "urls": [url]}), url=url, model="m")


def test_an_engine_that_hangs_is_not_waited_for_at_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "TIMEOUT_S", 1.0)
    asked: list[str] = []
    scored = forcing.scored
    monkeypatch.setattr(forcing, "scored", lambda where, *text: asked.append(where.url) or scored(where, *text))
    texts = [(f"{number}+1=", " 4") for number in range(20)]
    with echo_engine(likely) as good, dripping() as hanging:
        rows = list(echoed_sides([address(good.url), address(hanging)], texts))
    assert asked.count(hanging) == PATIENCE
    assert asked.count(good.url) == 2 * len(texts)
    left = [row for row in rows if row["side"] == 1]
    assert len(left) == len(texts)
    assert all("had not ended after 1 s" in str(row) for row in left)
