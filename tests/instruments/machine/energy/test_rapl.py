"""Are packages and their memory counted once?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.machine.energy.rapl import rapl
from tests.instruments.machine.energy_made import bare, zone


def test_packages_and_their_memory_are_read_and_nothing_twice(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 400_000)  # inside the package
    zone(tmp_path, "intel-rapl:0:1", "uncore", 100_000)  # inside the package
    zone(tmp_path, "intel-rapl:0:2", "dram", 300_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 2_000_000)
    zone(tmp_path, "intel-rapl:1:0", "dram", 500_000)
    zone(tmp_path, "intel-rapl:2", "psys", 9_000_000)  # holds the packages
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1_000_001)  # the same package, another way
    found = rapl(bare(tmp_path))
    assert found.absence is None
    assert {counter.device: counter.read() for counter in found.counters} == {
        "package-0": 1.0,
        "dram-0": 0.3,
        "package-1": 2.0,
        "dram-1": 0.5,
    }
    assert {counter.max_range for counter in found.counters} == {65_712.999613}


def test_a_package_that_only_the_memory_mapped_zone_shows_is_read_there(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    assert [(counter.device, counter.read()) for counter in rapl(bare(tmp_path)).counters] == [("package-0", 5.0)]


def test_no_powercap_is_a_reason(tmp_path: Path) -> None:
    found = rapl(bare(tmp_path))
    assert found.counters == ()
    assert found.absence is not None
    assert found.absence.startswith("no RAPL: /sys/class/powercap has no intel-rapl zone")


@pytest.mark.parametrize(
    ("energy", "limit", "reason"),
    [
        ("", 1, "energy_uj is empty"),
        ("x", 1, "'x' is not an integer"),
        (1, 0, "wraps could not be recognised"),
        (1, "", "max_energy_range_uj is empty"),
    ],
)
def test_a_counter_that_cannot_be_read_is_a_reason_and_no_zero(tmp_path: Path, energy: Any, limit: Any, reason: str) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", energy, limit)
    found = rapl(bare(tmp_path))
    assert found.counters == ()
    assert reason in (found.absence or "")


def test_a_counter_that_only_root_may_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    original = Path.read_text

    def read_text(path: Path, *arguments: Any, **settings: Any) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")  # the tests may run as root, whom no mode keeps out
        return original(path, *arguments, **settings)

    monkeypatch.setattr(Path, "read_text", read_text)
    assert rapl(bare(tmp_path)).absence == (
        "RAPL cannot be read: intel-rapl:0: /sys/class/powercap/intel-rapl:0/energy_uj: Permission denied; "
        "energy_uj is often readable by root only"
    )
