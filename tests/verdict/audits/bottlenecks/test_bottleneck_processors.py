"""Workers that share processors cannot shrink their computing: the floor is by hand, and silent where processors suffice."""

from __future__ import annotations

import pytest

from fireassay.metrics.training.lost_time import METRICS
from fireassay.metrics.training.time import STEP_TIME
from fireassay.spec.sections.launcher import Launcher
from fireassay.verdict.audits.bottlenecks.bottleneck_processors import AUDIT
from fireassay.verdict.types import Finding
from tests.builders import estimate
from tests.handmade import Handmade


def found(processors: int | None, *, device: bool = False, threads: int = 1, transfer: bool = True) -> list[Finding]:
    """A base that computes 80 ms of 100; four workers that compute 45 ms each."""
    made = Handmade(levels=(1, 4), blocks=3)
    made.experiment = made.experiment.model_copy(update={"launcher": Launcher(threads_per_worker=threads)})
    made.manifest["environment"] = {"before": {"cpu": {"usable": {"count": processors} if processors else {"absent": "no affinity"}}}}
    for block in range(3):
        for workers, each, computing in ((1, 0.1, 0.08), (4, 0.05, 0.045)):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                made.steps(
                    number, rank=rank, seconds=[each] * 20, phases_s={"data": 0.0, "forward": computing, "backward": 0.0, "optimizer": 0.0}
                )
    data = made.measured()
    results = {STEP_TIME.name: STEP_TIME.compute(data, {})}
    for metric in METRICS:
        results[metric.name] = metric.compute(data, results)
    if transfer:
        results["lost_transfer"] = {"workers=4": estimate(0.001, 0.0, "s")}
    if device:
        results["memory_peak"] = {"workers=4": estimate(1e9, 0.0, "B")}
    return list(AUDIT.examine(data, results))


def test_four_workers_on_two_processors_compute_at_least_half_of_the_base() -> None:
    """80 / 2 - 80 / 4 = 20 ms, of 45 - 80 / 4 = 25 ms that did not shrink."""
    (finding,) = found(2)
    assert finding.configuration == "workers=4"
    assert finding.evidence == (
        "4 workers share 2 usable processors, which explains 20 ms of the 25 ms [25, 25] of computing that did not shrink"
    )
    assert "a machine with 4 processors" in finding.remedy


@pytest.mark.parametrize(("processors", "device"), [(4, False), (8, False), (None, False), (2, True)])
def test_enough_processors_unknown_ones_or_a_device_say_nothing(processors: int | None, device: bool) -> None:
    assert found(processors, device=device) == []


def test_threads_count_too() -> None:
    (finding,) = found(4, threads=2)
    assert "4 workers with 2 threads each share 4 usable processors" in finding.evidence


def test_without_a_measured_transfer_the_lost_computing_holds_communication_too() -> None:
    (finding,) = found(2, transfer=False)
    assert finding.evidence.endswith("20 ms of the 25 ms [25, 25] of computing and communication that did not shrink")
