"""Is an engine that never ends its answer given up?"""

from __future__ import annotations

import pytest

from fireassay.runners.evaluating import likelihood
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND
from tests.runners.evaluating.dripping_engine import dripping


def test_an_answer_that_never_ends_is_given_up_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "TIMEOUT_S", 1.0)
    with dripping() as url:
        target = Target.model_validate({"name": "a", "urls": [url]})
        said = likelihood.echo(BACKEND, target, url, "m", ("2+2=", " 4"))
    assert isinstance(said, str)
    assert "had not ended after 1 s" in said
