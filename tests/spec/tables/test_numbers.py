"""Numbers as people write them, and headings as people name them."""

from __future__ import annotations

import pytest

from fireassay.spec.tables.cells import heading, marks, missing, number


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        ("12", 12.0, ""),
        ("1e3", 1000.0, ""),
        (".935105", 0.935105, ""),
        ("1,345.8", 1345.8, ""),
        ("1,345,678", 1345678.0, ""),
        ("12 000", 12000.0, ""),
        ("12\u00a0000", 12000.0, ""),
        ("1'200", 1200.0, ""),
        ("1_200", 1200.0, ""),
        ("$2.50", 2.5, ""),
        ("~641", 641.0, ""),
        ("650 ± 12", 650.0, ""),
        ("375*", 375.0, ""),
        ("2,022.6 (15.0x)", 2022.6, ""),
        ("340 s", 340.0, "s"),
        ("2.76×", 2.76, "x"),
        ("0:20:30", 1230.0, "s"),
        ("\u22125", -5.0, ""),
        ("8x V100", 8.0, "x V100"),
    ],
)
def test_a_cell_is_its_number_and_its_unit(cell: str, value: float, unit: str) -> None:
    found = number(cell)
    assert found is not None
    assert (found.value, found.unit) == (pytest.approx(value), unit)


@pytest.mark.parametrize(("cell", "value"), [("12,5", 12.5), ("1.234,5", 1234.5), ("1.234.567", 1234567.0), ("0,871", 0.871), ("12", 12.0)])
def test_a_decimal_comma_is_read_where_the_table_has_shown_one(cell: str, value: float) -> None:
    found = number(cell, "comma")
    assert found is not None
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize("cell", ["", "fast", "nan", "1,23.4", "12,34,5", "--5", "."])
def test_what_is_no_number_is_none(cell: str) -> None:
    assert number(cell) is None


def test_percent_is_told_from_the_number() -> None:
    found = number("87.1 %")
    assert found is not None
    assert (found.value, found.percent) == (87.1, True)


def test_cells_show_their_decimal_mark_together() -> None:
    assert marks(["1,345", "12,5"]).decimal == "comma"
    assert marks(["1,345", "12.5"]).decimal == "point"
    assert marks(["1,345", "7"]).doubtful == "1,345"
    assert marks(["0,871"]).comma == "0,871"
    assert marks(["1.345"]) == marks([])  # a point is a point, where nothing else is shown


def test_a_cell_may_say_that_there_is_no_value() -> None:
    assert all(missing(cell) for cell in ("-", "—", "n/a", "OOM", " N/A "))
    assert not any(missing(cell) for cell in ("", "0", "x"))


@pytest.mark.parametrize(
    ("name", "meaning", "factor", "per_worker"),
    [
        ("# of GPUs", "workers", 1.0, False),
        ("Number of nodes", "workers", 1.0, False),
        ("World Size", "workers", 1.0, False),
        ("Time to train (min)", "seconds", 60.0, False),
        ("wall-clock time [h]", "seconds", 3600.0, False),
        ("runtime_ms", "seconds", 1e-3, False),
        ("Time to train with TF32 (Hrs)", "seconds", 3600.0, False),
        ("s/it", "step_seconds", 1.0, False),
        ("ms/step", "step_seconds", 1e-3, False),
        ("step time (ms)", "step_seconds", 1e-3, False),
        ("Throughput (tokens/s/GPU)", "rate", 1.0, True),
        ("img/sec", "rate", 1.0, False),
        ("images per minute", "rate", 1 / 60, False),
        ("teraFLOP/s per GPU", "rate", 1.0, True),
        ("$/h", "usd_per_hour", 1.0, False),
        ("$/GPU-hour", "usd_per_hour", 1.0, True),
        ("Cost ($)", "usd", 1.0, False),
        ("Top-1 (%)", "quality", 1.0, False),
        ("Validation accuracy", "quality", 1.0, False),
        ("scaling efficiency", "efficiency", 1.0, False),
        ("Speed-up", "speedup", 1.0, False),
        ("Energy (kWh)", "joules", 3.6e6, False),
        ("J/step", "joules", 1.0, False),
        ("energy per step (kJ)", "joules", 1e3, False),
        ("Power per GPU (W)", "watts", 1.0, True),
        ("Batch size / GPU", "batch", 1.0, True),
        ("Global batch size", "batch", 1.0, False),
        ("samples", "work", 1.0, False),
        ("price (€/h)", "other_money", 1.0, False),
    ],
)
def test_a_heading_says_what_its_column_means(name: str, meaning: str, factor: float, per_worker: bool) -> None:
    found = heading(name)
    assert found is not None
    assert (found.meaning, found.factor, found.per_worker) == (meaning, pytest.approx(factor), per_worker)


@pytest.mark.parametrize(
    "name", ["", "Model", "Serial Time (s)", "Communication time (s)", "Throughput speedup (TF32 to mixed precision)", "GPU", "Date"]
)
def test_a_heading_that_is_not_known_is_left_alone(name: str) -> None:
    assert heading(name) is None
