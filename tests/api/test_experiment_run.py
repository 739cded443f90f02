"""Does the search bracket the capacity, and is the experiment then run round it, untouched by the pilots' data?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.api.experiment_run import Range, pilot, ranged, search
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.spec.load import from_mapping


@pytest.mark.slow
@given(st.floats(0.01, 1e4), st.floats(0.02, 2e3))
def test_the_capacity_lies_between_what_met_and_what_missed(capacity: float, begin: float) -> None:
    found = search(begin, lambda rate: rate <= capacity)
    if found.meets is not None and found.misses is not None:
        assert found.meets <= capacity < found.misses
        assert found.misses / found.meets <= 2.0 ** (1 / 8) * (1 + 1e-9)  # a doubling, halved three times
        assert found.meets <= found.middle <= found.misses
    else:  # farther than fourteen doublings
        assert capacity / begin >= 2.0**13 or begin / capacity > 2.0**13


def test_nothing_that_can_be_judged_ends_the_search() -> None:
    assert search(1.0, lambda rate: None) == Range(meets=None, misses=None)
    assert search(1.0, lambda rate: True if rate < 8 else None) == Range(meets=4.0, misses=None)


def experiment(**more: object) -> object:
    return from_mapping(
        {
            "name": "x",
            "workload": {"runner": "serving"},
            "serving": {
                "rate": [2.0],
                "search": True,
                "objectives": {"ttft_s": 0.1},
                "targets": [{"urls": ["http://127.0.0.1:1"]}],
                "arrivals": {"process": "poisson", "duration_s": 60.0, "warm_up_s": 0.2},
                "scenarios": ["D(10,4)", "D(20,4)"],
                **more,
            },
            "faults": [{"kind": "command", "command": "true"}],
        }
    )


def test_a_pilot_is_one_short_launch_at_one_rate_without_faults() -> None:
    from fireassay.spec.plan import plan

    made = pilot(experiment(), 12.34567)  # type: ignore[arg-type]
    assert [one.configuration for one in plan(made)] == ["rate=12.35"]
    assert made.serving is not None
    assert (made.serving.arrivals.duration_s, made.serving.search, made.name) == (8.0, False, "x-pilot")


def test_without_a_search_the_experiment_stays_as_it_is(tmp_path: Path) -> None:
    asked = experiment(search=False)
    assert ranged(asked, tmp_path, tmp_path) is asked  # type: ignore[arg-type]


@pytest.mark.deep
@pytest.mark.slow
def test_a_search_finds_where_a_server_with_two_slots_saturates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two slots of 50 ms serve 40 requests/s at most: an attainment of half of the requests is lost near that."""
    with serving(Settings(first_s=0.04, next_s=0.0025, slots=2)) as server:
        asked = from_mapping(
            {
                "name": "x",
                "workload": {"runner": "serving"},
                "noise": {"sentinel_s": 0.0},
                "serving": {
                    "rate": [10.0],
                    "search": True,
                    "objectives": {"ttft_s": 0.2, "attainment": 0.5},
                    "targets": [{"urls": [server.url]}],
                    "arrivals": {"process": "poisson", "duration_s": 1.5, "warm_up_s": 0.2, "drain_s": 20.0},
                    "scenarios": ["D(10,5)"],
                },
            }
        )
        found = ranged(asked, tmp_path, tmp_path / "records")
    assert found.serving is not None
    assert len(found.serving.rate) == 5
    assert 0.0 < found.serving.rate[2] < 160.0  # short loads of a small queue: the order of magnitude; a busy machine serves fewer
    pilots = [open_record(path) for path in record_folders(tmp_path / "records")]
    assert {one.experiment.name for one in pilots} == {"x-pilot"}
    assert "search: the objectives stop being met between" in capsys.readouterr().err
