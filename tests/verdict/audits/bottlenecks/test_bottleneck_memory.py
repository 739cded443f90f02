"""Memory that is nearly used up is a warning, memory that lies idle a note."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.verdict.audits.bottlenecks.bottleneck_memory import AUDIT
from tests.builders import estimate
from tests.handmade import Handmade

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


GIB = 1024**3


@pytest.mark.parametrize(
    ("device", "host", "rules"),
    [(0.95, 0.1, ["bottleneck_memory"]), (0.4, 0.1, ["memory_unused"]), (0.7, 0.5, []), (0.7, 0.96, ["bottleneck_memory"])],
)
def test_memory_that_is_full_or_idle(device: float, host: float, rules: list[str]) -> None:
    made = measured()
    made.manifest["environment"]["before"] = {
        "gpu": {"nvidia": {"devices": [{"memory_bytes": 80 * GIB}, {"memory_bytes": 100 * GIB}]}},
        "memory": {"total_bytes": 64 * GIB},
        "cgroup": {"memory_limit": {"limit": "bytes", "bytes": 32 * GIB}},
    }
    results = {"memory_peak": of(device * 80 * GIB, 0.0, "B"), "host_memory_peak": of(host * 32 * GIB, 0.0, "B")}
    assert [one.rule for one in AUDIT.examine(made.measured(), results)] == rules


def test_memory_of_a_machine_that_is_not_known_limits_nothing() -> None:
    results = {"memory_peak": of(1e12, 0.0, "B"), "host_memory_peak": of(1e12, 0.0, "B")}
    assert tuple(AUDIT.examine(measured().measured(), results)) == ()


def test_ranks_of_two_hosts_do_not_share_the_memory_of_one() -> None:
    """4 ranks of 12 GiB: 24 GiB on each of two hosts of 32 GiB is enough, 48 GiB on one is not."""
    for hosts, rules in ((("a", "a", "b", "b"), []), (("a", "a", "a", "a"), ["bottleneck_memory"])):
        made = Handmade(levels=(4,), blocks=1)
        number = made.launch(workers=4)
        for rank, host in enumerate(hosts):
            made.event(number, "first_step", 1.0, rank=rank, host=host)
        made.manifest["environment"]["before"] = {"memory": {"total_bytes": 32 * GIB}}
        results = {"host_memory_peak": {"workers=4": estimate(12.0 * GIB, 0.0, "B")}}
        assert [one.rule for one in AUDIT.examine(made.measured(), results)] == rules
