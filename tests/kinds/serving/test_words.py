"""The words of a load: what configurations are called, and the conditions without which no number may be quoted."""

from __future__ import annotations

import pytest

from fireassay.kinds.serving.words import conditions, group_of, load_of
from fireassay.spec.plan import configurations
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade


def words(**made: object) -> dict[str, str]:
    measured = ServingMade(**made).measured()  # type: ignore[arg-type]
    return conditions(measured)


@pytest.mark.parametrize(
    ("made", "group", "load"),
    [
        ({"concurrency": (8,)}, "", "8 in flight"),
        ({"rate": (2.5,)}, "", "2.5 req/s"),
        ({"rate": (5.0,), "engines": ("vllm", "tgi")}, "vllm", "5 req/s"),
        ({"rate": (5.0,), "scenarios": ("D(1,2)", "D(3,4)")}, "D(1,2)", "5 req/s"),
        ({"process": "single_stream"}, "", "single stream"),
    ],
)
def test_a_load_is_called_by_what_varies(made: dict[str, object], group: str, load: str) -> None:
    record = ServingMade(**made)  # type: ignore[arg-type]
    serving = record.experiment.serving
    assert serving is not None
    one = configurations(record.experiment)[0]
    assert (group_of(serving, one), load_of(serving, one)) == (group, load)


def test_the_objectives_and_the_load_are_said() -> None:
    said = words(rate=(4.0, 8.0), objectives=Objectives(ttft_s=0.2, tpot_s=0.05), warm_up_s=2.0, seconds=30.0, prices=1.5)
    assert said["Objectives"] == "TTFT ≤ 0.2 s, TPOT ≤ 0.05 s, for 99 % of the requests due"
    assert said["Load"] == "poisson, 4, 8 requests/s; 2 s of warm-up, then 30 s"
    assert said["Prices"] == "$1.5 per replica-hour (2026-01-01, test)"
    assert said["Clock"] == "every latency begins when its request was due"


def test_a_load_is_not_called_by_workers() -> None:
    assert not any("worker" in text for text in words(rate=(4.0,), prices=1.0).values())


def test_a_fault_says_when() -> None:
    said = words(rate=(4.0,), started=True, faults=(Fault(kind="kill", at_s=3.0, for_s=2.0, load=4.0),))
    assert said["Faults"] == "kill, 3 s into the measured part, for 2 s"
    assert "2 replicas, started by assay" in said["Engines"]
