"""TensorBoard's own reader finds every number, its bounds and what it is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fireassay.reports.exports import tensorboard
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from tests.exporting import tracked as numbers_of

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed")


class Read:
    """A run as TensorBoard reads it."""

    def __init__(self, folder: Path) -> None:
        self.events = accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0})
        self.events.Reload()

    def tags(self, plugin: str) -> list[str]:
        return [tag for tag in self.events.Tags()["tensors"] if self.about(tag).plugin_data.plugin_name == plugin]

    def about(self, tag: str) -> Any:
        return self.events.SummaryMetadata(tag)

    def tensors(self, tag: str) -> list[Any]:
        return [event.tensor_proto for event in self.events.Tensors(tag)]

    def text(self, tag: str) -> str:
        return str(self.tensors(tag)[0].string_val[0].decode())

    def numbers(self) -> dict[str, tuple[float, ...]]:
        return {tag: tuple(float(one.float_val[0]) for one in self.tensors(tag)) for tag in self.tags("scalars")}


def read(subject: Subject, folder: Path) -> dict[str, Read]:
    """Each run by its folder, "." being the record's."""
    for name, content in tensorboard.files(subject).files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(content, bytes)
        (folder / name).write_bytes(content)
    runs = {str(path.parent.relative_to(folder)): Read(path.parent) for path in folder.rglob("events.out.tfevents.*")}
    return dict(sorted(runs.items()))


@pytest.mark.parametrize("made", ["training", "late"])
def test_every_number_and_bound_is_read_back(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    subject: Subject = request.getfixturevalue(made)
    runs = read(subject, tmp_path)
    prefix = "INVALID " if made == "late" else ""
    expected = {"." if name == "all" else f"{prefix}{name}": numbers for name, numbers in numbers_of(subject.document).items()}
    assert expected
    for name, numbers in expected.items():
        found = {tag: values[0] for tag, values in runs[name].numbers().items() if tracked.STEP_TIME not in tag}
        assert found == {tag: float(np.float32(number)) for tag, number in numbers.items()}
        for tag, number in numbers.items():  # of which TensorBoard itself keeps 32 bits
            said = runs[name].about(tag).summary_description
            assert said.startswith(f"{number!r} ")
            assert subject.head.digest in said


def test_scalars_have_32_bits_for_the_default_reader_drops_others(training: Subject, tmp_path: Path) -> None:
    runs = read(training, tmp_path)
    assert {one.dtype for run in runs.values() for tag in run.tags("scalars") for one in run.tensors(tag)} == {1}  # DT_FLOAT


def test_an_invalid_record_says_so_in_runs_tags_and_text(late: Subject, tmp_path: Path) -> None:
    runs = read(late, tmp_path)
    assert list(runs) == [".", "INVALID rate=6"]
    assert all(tag.startswith("invalid/") for run in runs.values() for tag in run.tags("scalars"))
    assert runs["."].text("fireassay/verdict").startswith("INVALID: ")
    plugin = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2")
    session = plugin.HParamsPluginData.FromString(runs["INVALID rate=6"].about("_hparams_/session_start_info").plugin_data.content)
    shown = {name: value.string_value for name, value in session.session_start_info.hparams.items()}
    assert (shown["status"], shown["standing"], shown["digest"], shown["load"]) == ("INVALID", "invalid", "unsealed", "6")


def test_what_was_not_measured_is_a_reason_and_no_number(late: Subject, tmp_path: Path) -> None:
    runs = read(late, tmp_path)
    absent = {row.metric: row.reason for row in late.values if row.value is None}
    assert absent
    tags = {tag.rpartition("/")[2] for run in runs.values() for tag in run.tags("scalars")}
    assert not tags & absent.keys()
    told = runs["."].text("fireassay/not measured")
    assert all(f"| {name} |" in told for name in absent)


def test_curves_are_the_recorded_times_of_steps(training: Subject, tmp_path: Path) -> None:
    runs = read(training, tmp_path)
    steps = training.measured.table("steps")
    curves = {tag: run.events.Tensors(tag) for run in runs.values() for tag in run.tags("scalars") if tag.startswith("step_seconds/")}
    timed = training.measured.timed["launch"].to_list()
    assert sorted(curves) == sorted(f"step_seconds/launch {launch}" for launch in timed)
    for launch in timed:
        rows = steps.filter(launch=launch).group_by("step").agg(((pl.col("end_ns") - pl.col("begin_ns")) / 1e9).max()).sort("step")
        events = curves[f"step_seconds/launch {launch}"]
        assert [event.step for event in events] == rows["step"].to_list()
        assert [event.tensor_proto.float_val[0] for event in events] == pytest.approx(rows["end_ns"].to_list(), rel=1e-6)


def test_a_record_gives_the_same_files_again(training: Subject) -> None:
    assert tensorboard.files(training).files == tensorboard.files(replace(training)).files


@pytest.mark.parametrize(
    ("title", "folder"), [("../../etc", "_.._etc"), ("a/b|c\x00\n", "a_b_c__"), ("..", "_"), ("workers=2", "workers=2")]
)
def test_a_runs_folder_stays_below_the_destination(title: str, folder: str) -> None:
    assert tensorboard._folder(title) == folder


def test_a_number_beyond_32_bits_is_infinite_there_and_whole_in_words() -> None:
    assert tensorboard._tensor(1e300).endswith(b"\x00\x00\x80\x7f")


def test_a_cell_cannot_leave_its_table() -> None:
    assert tensorboard._markdown(("a",), [("x|y\n<script>`",)]).splitlines()[-1] == "| x y script>  |"
