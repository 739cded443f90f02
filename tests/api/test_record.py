"""What does a program get from a record, and what does it hear when it asks for something else?"""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import fireassay
from fireassay.api.chart import Chart
from fireassay.api.comparison import Comparison
from fireassay.api.record import steps_of
from fireassay.api.timing import Timed
from fireassay.api.verdict import Verdict, of
from fireassay.errors import RecordError, SpecError
from fireassay.estimates.estimate import Absent
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.tables import TABLES
from fireassay.reports.charts import model
from fireassay.spec.kind import kind_of
from tests.api.conftest import GOOD
from tests.importers.reading import imported as loads
from tests.importers.samples import posted
from tests.importers.test_osu import ALLREDUCE
from tests.importers.timings.made import imported as timings
from tests.statuses import RECORDS
from tests.tiers import some
from tests.verdict.making import good
from tests.watched_made import watched


def test_a_record_is_opened_by_name_path_and_latest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    opened = [fireassay.open(name) for name in ("digits", "dig", "latest", "records/digits", Path("records/digits"))]
    assert len(set(opened)) == 1


def test_a_name_is_looked_up_below_the_given_root(folder: Path) -> None:
    assert fireassay.open("digits", root=folder / "records").path == folder / "records" / "digits"


def test_a_folder_without_a_record_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        fireassay.open(tmp_path)


def test_a_damaged_newer_record_is_skipped_with_a_warning_and_no_output(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    newer = folder / "records" / "newer"
    shutil.copytree(GOOD, newer)
    manifest = (newer / "manifest.json").read_text()
    (newer / "manifest.json").write_text(
        manifest.replace('"created_utc": "2', '"created_utc": "3').replace('"created_utc":"2', '"created_utc":"3')
    )
    (newer / "experiment.toml").write_text("name = ")
    with pytest.warns(UserWarning, match="not the latest: .*newer"):
        latest = fireassay.open("latest", root=folder / "records")
    assert (latest.name, capfd.readouterr()) == ("digits", ("", ""))


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_has_its_declared_columns_even_without_rows(record: fireassay.Record, name: str) -> None:
    frame = record.table(name)
    assert frame.columns == arrow_schema(name).names
    assert (frame.height > 0) == (name in record.tables)


@pytest.mark.parametrize("name", some(["good", "before", "after", "worse_accuracy"]))
def test_steps_without_warm_up_have_the_step_time_of_the_report(name: str) -> None:
    """Geometric mean over launches of a launch's median; so is the metric: `fireassay.metrics.training.time`."""
    record = fireassay.open(GOOD.parent / name)
    launches = record.steps().group_by("configuration", "launch").agg(pl.col("step_s").median())
    by_route = dict(launches.group_by("configuration").agg(pl.col("step_s").log().mean().exp()).iter_rows())
    printed = record.metrics.filter(metric="step_time").select("configuration", "value")
    assert by_route == pytest.approx(dict(printed.iter_rows()))


def test_steps_of_the_warm_up_are_marked_and_left_out(record: fireassay.Record) -> None:
    every = record.steps(warm_up=True)
    assert every["warm_up"].any()
    assert every.filter(~pl.col("warm_up")).drop("warm_up").equals(record.steps())


def test_a_record_without_steps_says_which_tables_it_has() -> None:
    with pytest.raises(SpecError, match=r"of a load on serving engines.*launches .*, arrivals .*, requests"):
        fireassay.open(GOOD.parent / "engines").steps()


def test_the_metrics_are_tidy_and_an_absent_number_is_null_with_its_reason(record: fireassay.Record) -> None:
    frame = record.metrics
    absent, known = frame.filter(pl.col("reason").is_not_null()), frame.filter(pl.col("reason").is_null())
    assert frame.select("metric", "configuration").is_unique().all()
    assert absent.height > 0
    assert known.height > 0
    assert absent.select("value", "low", "high", "n_launches").null_count().row(0) == (absent.height,) * 4
    assert known.select("value", "low", "high", "unit", "n_launches").null_count().row(0) == (0,) * 5
    assert frame.filter(metric="mfu", configuration="workers=2").item(0, "reason").startswith("not_measured: ")


def test_the_frame_and_a_single_metric_agree(record: fireassay.Record) -> None:
    speedup = record.metric("speedup", workers=2)
    assert isinstance(speedup, fireassay.Estimate)
    row = record.metrics.row(by_predicate=(pl.col("metric") == "speedup") & (pl.col("configuration") == "workers=2"), named=True)
    assert (row["value"], row["low"], row["high"]) == (speedup.value, speedup.low, speedup.high)
    assert math.isclose(speedup.value, 1.7044, rel_tol=1e-4)  # as `assay report` has it


def test_the_metrics_become_a_pandas_frame(record: fireassay.Record) -> None:
    frame = record.metrics.to_pandas()
    assert list(frame.columns) == record.metrics.columns
    assert bool(frame.loc[frame["reason"].notna(), "value"].isna().all())


def test_without_pandas_the_conversion_says_what_is_missing(record: fireassay.Record, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = record.metrics
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        metrics.to_pandas()


@pytest.mark.parametrize(
    ("name", "selection"),
    [
        ("speedup", {"workers": 2}),
        ("speedup", {"configuration": "workers=2"}),
        ("speedup", {"workers": 2.0}),
        ("speedup", {"workers": "2"}),
    ],
)
def test_a_configuration_is_selected_by_its_values_or_its_name(record: fireassay.Record, name: str, selection: dict[str, object]) -> None:
    assert record.metric(name, **selection) == record.metric("speedup", workers=2)


def test_a_metric_of_the_whole_experiment_needs_no_selection(record: fireassay.Record) -> None:
    assert isinstance(record.metric("serial_fraction"), fireassay.Estimate)


@pytest.mark.parametrize(
    ("selection", "words"),
    [({}, "no configuration"), ({"workers": 3}, "workers=3"), ({"wrkers": 2}, "wrkers=2"), ({"workers": True}, "workers=True")],
)
def test_a_selection_that_fits_nothing_names_the_configurations(record: fireassay.Record, selection: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError, match=rf"found {words}; allowed: a selection of one of workers=1, workers=2"):
        record.metric("speedup", **selection)


def test_an_unknown_name_is_refused_with_the_closest_one(record: fireassay.Record) -> None:
    for ask in (lambda: record.metric("sped_up"), lambda: record.chart("spedup"), lambda: record.table("stps")):
        with pytest.raises(SpecError, match="Did you mean '(speedup|steps)'"):
            ask()


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in RECORDS if key[1] in ("MEASURED", "FAIL", "INVALID")], ids="-".join)
def test_a_record_of_every_kind_has_steps_or_says_why_and_what_it_has(key: tuple[str, str], tmp_path: Path) -> None:
    measured = RECORDS[key](tmp_path)
    if key[0] == "training":
        assert steps_of(measured)["step_s"].min() > 0.0  # type: ignore[operator]
        return
    title = kind_of(measured.experiment).title
    with pytest.raises(
        SpecError, match=rf"without steps: it is of {title}; allowed: record.table\(NAME\), NAME one of launches \(\d+ rows\)"
    ):
        steps_of(measured)


def test_a_training_whose_steps_do_not_count_says_why() -> None:
    made = good(levels=(1,))
    made.rows["steps"] = []
    with pytest.raises(SpecError, match=r"a training without steps that count: .*record.table\(NAME\), NAME one of launches"):
        steps_of(made.measured())


def test_a_record_that_cannot_be_judged_says_so_in_a_notebook(folder: Path) -> None:
    opened = fireassay.open("digits", root=folder / "records")
    (opened.path / "manifest.json").chmod(0o644)
    victim = next((opened.path / "tables" / "launches").rglob("*.parquet"))
    victim.chmod(0o644)
    victim.write_bytes(b"no")
    text = fireassay.open(opened.path)._repr_html_()
    assert "not judged" in text
    assert "as sealed" in text


def test_what_a_notebook_shows_is_small_and_escaped(record: fireassay.Record) -> None:
    shown = [record._repr_html_(), record.judge()._repr_html_(), record.metric("speedup", workers=2)._repr_html_()]
    assert all(0 < len(text) < 4000 for text in shown)
    assert all(
        word in shown[0] for word in ("inconclusive", "1.70× speedup, 2 workers [1.00, 2.88]", str(record.path), record._opened.seal)
    )
    assert "inconclusive" in shown[1]
    assert "1.70 [1.00, 2.88]" in shown[2]


@pytest.mark.slow
def test_a_notebook_shows_records_of_other_kinds(tmp_path: Path) -> None:
    records = [
        watched(tmp_path / "watched"),
        loads(tmp_path / "load", "agg_one.json", posted("agg_one.json").replace('"hw": "', '"hw": "<script>alert(1)</script>'))[0].path,
        loads(tmp_path / "collectives", "osu_np4.txt", ALLREDUCE)[0].path,
        timings(tmp_path / "calls", "megatron.log")[0].path,
    ]
    for path in records:
        shown = fireassay.open(path)._repr_html_()
        assert "not judged" not in shown
        assert "<script" not in shown


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>\x1b[31m"
    shutil.copytree(GOOD, tmp_path / "records" / name.replace("/", "_"))
    (opened,) = (fireassay.open(path) for path in (tmp_path / "records").iterdir())
    text = opened._repr_html_()
    assert "<script" not in text
    assert "\x1b" not in text
    value = fireassay.Absent(reason="not_measured", detail=name)
    assert "<script" not in value._repr_html_()
    assert "\x1b" not in f"{value._repr_html_()}{value}"


def test_a_hostile_sentence_does_not_steer_the_terminal(record: fireassay.Record) -> None:
    steering = "\x1b]0;owned\x07"
    verdict = record.judge()
    hostile = Verdict(verdict.name, replace(verdict._judged, sentence=steering))
    compared = fireassay.compare(record, at=["workers=1", "workers=2"])
    named = Comparison(replace(compared._compared, sentence=steering, sides=(steering, "b")), compared._view)
    chart = Chart(model.Chart(name="x", title=steering, missing=steering))
    timed = Timed(estimate=of(Absent(reason="not_measured", detail="")), record=record, text=steering)
    for text in (str(hostile), str(named), repr(named), repr(chart), str(timed)):
        assert not {"\x1b", "\x07"} & set(text)
