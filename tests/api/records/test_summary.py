"""What is kept of a judged record, and what is refused?"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from fireassay.api.records.survey import Measure, Summary, from_json, to_json
from fireassay.estimates.estimate import Estimate

ESTIMATE = Estimate(
    value=3.58,
    low=3.5,
    high=math.inf,
    unit="ratio",
    confidence=0.95,
    n_launches=5,
    n_trials=960,
    method="Student t",
    signature="speedup|k:5",
    launch_values=(3.5, 3.6),
)
SUMMARY = Summary(
    seal="ab" * 32,
    name="vit",
    id="8f0b5f",
    created_utc="2026-01-01T00:00:00+00:00",
    kind="training",
    status="PASS",
    word="pass",
    tone="good",
    headline="3.58 times at 4",
    sentence="vit: use 4",
    work="samples",
    done=15,
    planned=16,
    measures=(Measure(metric="speedup", title="Speedup", better="higher", configuration="workers=4", value=ESTIMATE),),
)


def test_a_summary_survives_with_unbounded_intervals() -> None:
    assert from_json(to_json(SUMMARY)) == SUMMARY
    both = replace(SUMMARY, measures=(replace(SUMMARY.measures[0], value=replace(ESTIMATE, low=-math.inf)),))
    assert from_json(to_json(both)) == both
    assert b"Infinity" not in to_json(both)


def changed(**values: Any) -> bytes:
    return json.dumps(json.loads(to_json(SUMMARY)) | values).encode()


def measure(**values: Any) -> list[Any]:
    return [json.loads(to_json(SUMMARY))["measures"][0] | values]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        changed(extra=1),
        changed(done="15"),
        changed(done=True),
        changed(tone="javascript"),
        changed(measures={}),
        changed(measures=[7]),
        changed(measures=measure(value=3.58)),
        changed(measures=measure(value={"value": 1.0})),
        changed(measures=measure(title=None)),
        to_json(SUMMARY).replace(b"3.58,", b"NaN,"),
        to_json(SUMMARY).replace(b"[3.5, 3.6]", b'["3.5"]'),
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_json(content)
