"""Are nodes that differ named, with the node and the property?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.verdict.audits.every import nodes as audited
from tests.verdict.making import good

FACTS: dict[str, Any] = {
    "host.name": "a",
    "host.os": "Debian GNU/Linux 12 (bookworm)",
    "host.kernel": "6.1.0-18-amd64",
    "cpu.model": "AMD EPYC 9654",
    "cpu.logical": 192,
    "cpu.governors": {"absent": "no frequency scaling"},
    "memory.total_bytes": 811_000_000_000,
    "gpu.nvidia": {"source": "nvml", "driver": "550.54", "devices": [{"name": "H100", "uuid": "1"}, {"name": "H100", "uuid": "2"}]},
}


def found(**nodes: dict[str, Any]) -> list[tuple[str, str]]:
    made = good()
    made.manifest["environment"]["before"]["nodes"] = nodes
    return [(finding.rule, finding.evidence) for finding in audited.examine_nodes(made.measured(), {})]


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        ({"host.kernel": "6.1.0-21-amd64"}, "kernel: c has 6.1.0-21-amd64; a, b: 6.1.0-18-amd64"),
        ({"gpu.nvidia": {**FACTS["gpu.nvidia"], "driver": "535.1"}}, "GPU driver: c has 535.1; a, b: 550.54"),
        ({"gpu.nvidia": {**FACTS["gpu.nvidia"], "devices": [{"name": "H100"}]}}, "GPUs: c has 1 H100; a, b: 2 H100"),
        ({"memory.total_bytes": 405_000_000_000}, "memory: c has 405.0 GB; a, b: 811.0 GB"),
    ],
)
def test_a_node_that_differs_is_named_with_what_differs(change: dict[str, Any], evidence: str) -> None:
    assert found(a=FACTS, b=FACTS, c={**FACTS, **change}) == [("nodes_differ", evidence)]


def test_equal_nodes_give_no_finding() -> None:
    """Names, the devices' own numbers and a few MB of memory differ everywhere."""
    other = {
        **FACTS,
        "host.name": "b",
        "memory.total_bytes": 811_001_000_000,
        "gpu.nvidia": {**FACTS["gpu.nvidia"], "devices": [{"name": "H100"}] * 2},
    }
    assert found(a=FACTS, b=other) == []


def test_a_node_that_could_not_be_read_is_named() -> None:
    assert found(a=FACTS, b={"absent": "no answer within 60 s"}) == [
        ("nodes_unread", "b could not be read before the first launch: no answer within 60 s")
    ]


def test_one_machine_is_not_examined() -> None:
    assert audited.blind_nodes(good().measured(), {}) == "all workers ran on one machine"


def test_pods_of_different_images_are_named_with_both_digests() -> None:
    made = good()
    old, new = (f"lab/train@sha256:{digit * 64}" for digit in "12")
    made.manifest["environment"]["before"]["allocation"] = {"images": {"w-0": old, "w-1": new, "w-2": old}}
    (finding,) = audited.examine_images(made.measured(), {})
    assert (finding.rule, finding.severity) == ("image", "warning")
    assert finding.evidence == "pods ran different images: sha256:111111111111 in w-0, w-2; sha256:222222222222 in w-1"


def test_one_image_for_all_pods_is_no_finding() -> None:
    made = good()
    made.manifest["environment"]["before"]["allocation"] = {"image_id": "lab/train@sha256:1"}
    assert list(audited.examine_images(made.measured(), {})) == []
