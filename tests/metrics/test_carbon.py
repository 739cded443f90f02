"""How many grams does a run cause?  By hand, over 24 hours, hours that are missing, and hours that a clock change moves."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.metrics.carbon import CARBON, CARBON_PER_ITEM, CARBON_PER_STEP
from fireassay.metrics.serving.cost import CARBON_PER_TOKEN
from fireassay.spec.load import load, read, to_toml
from fireassay.spec.sections.carbon import Carbon, intensities, of_flag, read_hours
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade

KWH = 3.6e6
DAY = tuple(f"2026-01-01T{hour:02}:00Z {100 + 10 * hour}" for hour in range(24))


def grid(**keys: Any) -> Carbon:
    return Carbon.model_validate({"source": "operator", "date": date(2026, 1, 1), **keys})


def day(carbon: Carbon | None, *, hours: int = 24, method: str = "counter") -> Handmade:
    """A launch from midnight UTC that uses 0.1 kWh in its first hour, 0.2 in its second and so on, on two devices, half each."""
    made = Handmade(levels=(2,), blocks=1, carbon=carbon)
    number = made.launch(workers=2, wall_s=hours * 3600.0)
    made.steps(number, seconds=[3600.0] * hours, items=10)
    used = 0.0
    for hour in range(hours + 1):
        for device in ("package-0", "GPU-a"):
            made.reading(number, device, "energy", used / 2, at_s=hour * 3600.0, unit="J", method=method)
        used += 0.1 * (hour + 1) * KWH
    return made


def test_a_file_of_24_hours_by_hand() -> None:
    """Sum over h of 0.1 (h + 1) kWh x (100 + 10 h) g = sum of h^2 + 11 h + 10 = 4324 + 3036 + 240 = 7600 g; PUE 1.2: 9120 g."""
    measured = day(grid(hours=DAY, pue=1.2, zone="DE")).measured()
    value = estimated(CARBON.compute(measured, {})["workers=2"])
    assert value.value == pytest.approx(9120.0)
    assert value.unit == "g"
    assert "PUE 1.2" in value.method
    assert "DE" in value.method
    assert estimated(CARBON_PER_STEP.compute(measured, {})["workers=2"]).value == pytest.approx(9120.0 / 24)
    assert estimated(CARBON_PER_ITEM.compute(measured, {})["workers=2"]).value == pytest.approx(9120.0 / 240)


def test_the_share_of_making_the_machine_is_added_where_given() -> None:
    """50 g an hour x 2 workers x 24 h = 2400 g, without PUE."""
    measured = day(grid(hours=DAY, pue=1.2, embodied_g_per_worker_hour=50.0)).measured()
    assert estimated(CARBON.compute(measured, {})["workers=2"]).value == pytest.approx(9120.0 + 2400.0)


def test_a_single_value_needs_no_hours() -> None:
    """0.1 x 24 x 25 / 2 = 30 kWh x 400 g."""
    assert estimated(CARBON.compute(day(grid(intensity_g_per_kwh=400.0)).measured(), {})["workers=2"]).value == pytest.approx(12_000.0)


def test_a_launch_over_two_hours_is_divided_by_time() -> None:
    """1.5 kWh evenly in 90 minutes from midnight: 1 kWh x 100 g + 0.5 kWh x 400 g = 300 g."""
    made = Handmade(levels=(1,), blocks=1, carbon=grid(hours=("2026-01-01T00:00Z 100", "2026-01-01T01:00Z 400")))
    number = made.launch(workers=1, wall_s=5400.0)
    made.reading(number, "package-0", "energy", 0.0, unit="J")
    made.reading(number, "package-0", "energy", 1.5 * KWH, at_s=5400.0, unit="J")
    assert estimated(CARBON.compute(made.measured(), {})["workers=1"]).value == pytest.approx(300.0)


def test_a_missing_hour_leaves_the_run_unknown_and_is_named() -> None:
    hours = tuple(hour for hour in DAY if "T05" not in hour)
    assert "2026-01-01 05:00 UTC" in absence(CARBON.compute(day(grid(hours=hours)).measured(), {})["workers=2"]).detail


def test_an_unknown_grid_and_unknown_joules_are_absent() -> None:
    assert "grid" in absence(CARBON.compute(day(None).measured(), {})["workers=2"]).detail
    bare = Handmade(levels=(1,), blocks=1, carbon=grid(intensity_g_per_kwh=400.0))
    bare.launch(workers=1)
    assert "energy counter" in absence(CARBON.compute(bare.measured(), {})["workers=1"]).detail


def test_grams_of_modelled_joules_say_so() -> None:
    value = estimated(CARBON.compute(day(grid(intensity_g_per_kwh=400.0), method="modelled").measured(), {})["workers=2"])
    assert "MODELLED" in value.method
    assert value.signature.startswith("carbon|method:modelled")


def test_grams_of_a_token_are_those_of_the_window() -> None:
    """36 J in each second of the load; the window's tokens divide its own joules: 1e-5 kWh/s x 500 g = 5 mg/s, 4 tokens/s."""
    made = ServingMade(carbon=grid(intensity_g_per_kwh=500.0), seconds=10.0)
    made.launch(wall_s=20.0)
    for second in range(1, 11):
        made.request(0, second - 0.5, tokens_out=4)
    for second in range(21):
        made.reading(0, "GPU-a", "energy", 36.0 * second, at_s=float(second), unit="J")
    measured = made.measured()
    (window,) = measured.served.windows.iter_rows(named=True)
    value = estimated(CARBON_PER_TOKEN.compute(measured, {})[measured.configurations[0]])
    assert value.value == pytest.approx(0.005 * window["seconds"] / window["tokens"])


# ---- the file ----


def written(folder: Path, text: str) -> Path:
    path = folder / "grid.csv"
    path.write_text(text)
    return path


def test_times_with_offsets_are_hours_of_utc_over_a_clock_change(tmp_path: Path) -> None:
    """On 2026-03-29 in Berlin 01:00+01:00 is followed by 03:00+02:00."""
    text = "time,carbon intensity\n2026-03-29T01:00+01:00,300\n2026-03-29T03:00+02:00,310\n2026-03-29T04:00+02:00,320\n"
    assert read_hours(written(tmp_path, text)) == ["2026-03-29T00:00Z 300", "2026-03-29T01:00Z 310", "2026-03-29T02:00Z 320"]


def test_the_hour_that_a_clock_change_repeats_is_two_hours_of_utc(tmp_path: Path) -> None:
    text = "time,g/kWh\n2026-10-25T02:00+02:00,300\n2026-10-25T02:00+01:00,310\n"
    assert read_hours(written(tmp_path, text)) == ["2026-10-25T00:00Z 300", "2026-10-25T01:00Z 310"]


def test_the_layout_of_electricity_maps_needs_its_column(tmp_path: Path) -> None:
    head = "Datetime (UTC),Country,Zone name,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity gCO₂eq/kWh (Life cycle)"
    path = written(tmp_path, f"{head}\n2026-01-01 00:00:00,Germany,DE,300.5,350.25\n2026-01-01 01:00:00,Germany,DE,,\n")
    with pytest.raises(SpecError, match="intensity_column"):
        read_hours(path)
    assert read_hours(path, "Carbon intensity gCO₂eq/kWh (Life cycle)") == ["2026-01-01T00:00Z 350.25"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 hours"),
        ("time,g/kWh\n", "0 hours"),
        ("when,g/kWh\n1,2\n", "a column of times"),
        ("time (UTC),value\n2026-01-01T00:00,2\n", "one column of g/kWh"),
        ("time,g/kWh\n2026-01-01T00:00,200\n", "a time with its offset"),
        ("time (UTC),g/kWh\nyesterday,200\n", "a time with its offset"),
        ("time (UTC),g/kWh\n2026-01-01T00:00,nan\n", "a number from 0"),
        ("time (UTC),g/kWh\n2026-01-01T00:00,1e9\n", "a number from 0"),
        ("time (UTC),g/kWh\n2026-01-01T00:00,-1\n", "a number from 0"),
        ("time (UTC),g/kWh\n2026-01-01T00:00,1\n2026-01-01T00:00,2\n", "each hour once"),
        ("time (UTC),g/kWh\n2026-01-01T00:00,\n", "no hour with a value"),
        ("time (UTC),g/kWh\n" + "x" * 200_000 + ",1\n", "time with its offset|field larger"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read_hours(written(tmp_path, text))


def test_a_file_that_is_none_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(SpecError, match="a CSV with times"):
            read_hours(path)


def test_the_hours_of_the_file_are_kept_where_the_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    file = written(tmp_path, "time (UTC),g/kWh\n2026-01-01T00:00,200\n2026-01-01T01:00,210\n")
    (tmp_path / "e.toml").write_text(
        'name = "n"\n[workload]\nscript = "train.py"\n[factor]\nlevels = [1]\n[carbon]\nintensity_file = "grid.csv"\nsource = "operator"\n'
    )
    asked = load(tmp_path / "e.toml")
    file.unlink()
    (tmp_path / "kept.toml").write_text(to_toml(asked))
    again = read(tmp_path / "kept.toml")
    assert again == asked
    assert again.carbon is not None
    assert intensities(again.carbon) == ((1_767_225_600, 200.0), (1_767_229_200, 210.0))


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("", "carbon.intensity_g_per_kwh"),
        ("intensity_g_per_kwh = 300.0\n", "carbon.date"),
        ('intensity_g_per_kwh = 300.0\nhours = ["2026-01-01T00:00Z 1"]\ndate = 2026-01-01\n', "carbon.intensity_file"),
        ('hours = ["2026-01-01T00:00 1"]\n', "carbon.hours"),
        ('hours = ["2026-01-01T01:00Z 1", "2026-01-01T00:00Z 1"]\n', "carbon.hours"),
        ('intensity_file = "elsewhere.csv"\n', "carbon.hours"),
    ],
)
def test_a_grid_given_twice_or_by_halves_is_refused(tmp_path: Path, keys: str, where: str) -> None:
    text = f'name = "n"\n[workload]\nscript = "t.py"\n[factor]\nlevels = [1]\n[carbon]\nsource = "s"\n{keys}'
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(SpecError) as refused:
        read(tmp_path / "e.toml")
    assert [problem.where for problem in refused.value.problems] == [where]


def test_the_flag_takes_a_number_or_a_file(tmp_path: Path) -> None:
    assert of_flag("350")["intensity_g_per_kwh"] == 350.0
    given = of_flag(str(written(tmp_path, "time (UTC),g/kWh\n2026-01-01T00:00,200\n")))
    assert given["hours"] == ["2026-01-01T00:00Z 200"]
