"""Are samples of asv trials, one benchmark for each combination of parameters?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from tests.importers.timings.made import FILES, one, times, value_of

pytestmark = pytest.mark.slow


def test_the_medians_of_asv(tmp_path: Path) -> None:
    """It printed 402 ns, 765 ns and 576 ns."""
    found = times(one(tmp_path, "asv.json"))
    assert {name: round(value_of(value) * 1e9) for name, value in found.items()} == {
        "bench.Suite.time_sort(10)": 402,
        "bench.Suite.time_sort(100)": 765,
        "bench.time_sum": 576,
    }


def test_a_folder_is_read_whole_without_the_description_of_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "abc-env.json").write_bytes((FILES / "asv.json").read_bytes())
    (folder / "machine.json").write_text('{"machine": "box", "version": 1}')
    assert main(["import", str(folder), "--root", str(tmp_path / "records")]) == 0
