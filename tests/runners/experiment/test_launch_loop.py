"""How many blocks are made, what is made again, and what the record says of it. No process is started here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.clock import FakeClock
from fireassay.errors import Interrupted, RecordError, SpecError, WorkloadError
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment import launch_loop
from fireassay.runners.experiment.context import Advice, Runner
from fireassay.runners.experiment.progress import Look, RunProgress
from fireassay.runners.experiment.run import resume, run
from tests.runners.making import InstantMaker, experiment

ENOUGH_AT = 8


class Judge:
    """Looks after 5, 8, 12, 16 ... blocks and says "enough" from `enough_at` on; launches in `noisy` were disturbed."""

    def __init__(self, *, enough_at: float = ENOUGH_AT, noisy: tuple[int, ...] = ()) -> None:
        self.enough_at, self.noisy = enough_at, noisy
        self.seen: list[tuple[int, int]] = []  # (blocks, rows on the disk) of every look
        self.asked: list[int] = []

    def advice(self) -> Advice:
        return Advice(looks=self.looks, analyse=self.analyse, disturbed=self.disturbed)

    def looks(self, _: Any) -> Iterator[int]:
        yield 5
        yield from count(8, 4)

    def analyse(self, path: Path, blocks: int) -> Look:
        self.seen.append((blocks, open_record(path).table("launches").height))
        return Look(
            blocks=blocks,
            confidence=0.975,
            enough=blocks >= self.enough_at,
            widths={"step_time at workers=1": 1 / blocks},
            sentence=f"looked after {blocks}",
        )

    def disturbed(self, path: Path, launch: int) -> str:
        table = open_record(path).table("telemetry")
        assert launch in table["launch"].to_list()  # what was read of it is on the disk
        assert launch not in open_record(path).table("launches")["launch"].to_list()  # its row is not
        self.asked.append(launch)
        return "somebody compiled" if launch in self.noisy else ""


@pytest.fixture(autouse=True)
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner `training` makes instant launches."""
    InstantMaker.made.clear()
    InstantMaker.rules.clear()
    runner = Runner(name="training", check=lambda *_: None, run=lambda made: launch_loop.run(made, InstantMaker(made)), maker=InstantMaker)
    monkeypatch.setattr(catalog, "load", lambda package, name, load=catalog.load: runner if package == "runners" else load(package, name))


def go(folder: Path, judge: Judge | None, told: list[RunProgress] | None = None, **changes: Any) -> Record:
    run(
        experiment(**changes),
        folder=folder,
        root=folder / "records",
        clock=FakeClock(),
        advice=judge.advice() if judge else None,
        on_progress=told.append if told is not None else None,
    )
    return only(folder)


def only(folder: Path) -> Record:
    [path] = (folder / "records").iterdir()
    return open_record(path)


def statuses(record: Record) -> list[str]:
    return record.table("launches").sort("launch")["status"].to_list()


ADAPTIVE = {"per_configuration": 5, "precision": 0.02, "at_most": 20}


# ---- looks -----------------------------------------------------------------------------------------------------------


def test_blocks_continue_until_an_interim_analysis_is_satisfied(tmp_path: Path) -> None:
    judge = Judge()
    record = go(tmp_path, judge, launches=ADAPTIVE)
    assert record.state == "complete"
    assert judge.seen == [(5, 10), (8, 16)]  # two configurations, and every row was on the disk
    assert statuses(record) == ["ok"] * 16
    assert record.manifest["looks_ended"] == "precision"
    assert [look["blocks"] for look in record.manifest["looks"]] == [5, 8]
    assert record.manifest["looks"][1] == {
        "blocks": 8,
        "confidence": 0.975,
        "enough": True,
        "widths": {"step_time at workers=1": 0.125},
        "sentence": "looked after 8",
        "ended": "",
    }


def test_at_most_limits_the_blocks_and_the_last_analysis_follows_the_last_block(tmp_path: Path) -> None:
    judge = Judge(enough_at=float("inf"))
    record = go(tmp_path, judge, launches={**ADAPTIVE, "at_most": 10})
    assert [blocks for blocks, _ in judge.seen] == [5, 8, 10]
    assert record.manifest["looks_ended"] == "at_most"
    assert statuses(record) == ["ok"] * 20


def test_the_time_of_the_experiment_ends_it_without_rows_for_what_was_not_begun(tmp_path: Path) -> None:
    """Two launches of a second per block: the 13th second lies in block 7, whose second launch is not started."""
    record = go(tmp_path, Judge(), launches=ADAPTIVE, limits={"experiment_timeout_s": 12.5})
    assert record.manifest["looks_ended"] == "budget"
    assert statuses(record) == ["ok"] * 13 + ["skipped"]
    assert record.state == "complete"


@pytest.mark.parametrize("adaptive", [True, False])
def test_after_a_failed_first_launch_no_other_is_started(tmp_path: Path, adaptive: bool) -> None:
    InstantMaker.rules.update({("made", slot): "failed" for slot in range(100)})
    launches = ADAPTIVE if adaptive else {"per_configuration": 3}
    with pytest.raises(WorkloadError, match=r"train.py failed in launch 1 of ") as raised:
        go(tmp_path, Judge(), launches=launches, faults=[{"kind": "kill"}])
    record = only(tmp_path)
    assert (record.state, record.manifest.get("looks_ended")) == ("failed", "failed" if adaptive else None)
    assert statuses(record) == ["failed"]
    (workers,) = record.table("launches")["workers"]
    assert str(raised.value).endswith(f"  assay run {record.path} --workers {workers} --launches 1")


def test_fault_launches_come_after_the_blocks_that_were_needed(tmp_path: Path) -> None:
    record = go(tmp_path, Judge(), launches=ADAPTIVE, faults=[{"kind": "kill"}])
    assert InstantMaker.made[-1][2] == "fault"
    assert len(statuses(record)) == 17


def test_launches_that_calibrate_communication_are_made_after_the_timed_ones_and_before_the_faults(tmp_path: Path) -> None:
    go(
        tmp_path,
        None,
        launches={"per_configuration": 1},
        faults=[{"kind": "kill"}],
        workload={"script": "train.py", "calibrate_communication": 1},
    )
    assert [role for _, _, role in InstantMaker.made] == ["timed", "timed", "communication", "fault"]


def test_without_judgements_precision_and_repeat_are_refused_before_any_record(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"launches.precision: found 0.02") as raised:
        go(tmp_path, None, launches=ADAPTIVE, noise={"repeat": 2})
    assert "noise.repeat: found 2" in str(raised.value)
    assert "fireassay.run" in str(raised.value)
    assert not (tmp_path / "records").exists()


def test_an_adaptive_record_resumes_where_it_stopped(tmp_path: Path) -> None:
    InstantMaker.rules["made", 12] = "stop"  # in block 6
    with pytest.raises(Interrupted):
        go(tmp_path, Judge(), launches=ADAPTIVE)
    assert [look["blocks"] for look in only(tmp_path).manifest["looks"]] == [5]
    assert "looks_ended" not in only(tmp_path).manifest
    InstantMaker.rules.clear()
    judge = Judge()
    resume(only(tmp_path).path, clock=FakeClock(), advice=judge.advice())
    assert [blocks for blocks, _ in judge.seen] == [8]
    assert [look["blocks"] for look in only(tmp_path).manifest["looks"]] == [5, 8]
    assert statuses(only(tmp_path)).count("ok") == 16


def test_an_interrupted_analysis_comes_first_on_resume(tmp_path: Path) -> None:
    judge = Judge(enough_at=5)
    judge.analyse = lambda *_: (_ for _ in ()).throw(RecordError("cut off"))  # type: ignore[method-assign]
    with pytest.raises(RecordError, match="cut off"):
        go(tmp_path, judge, launches=ADAPTIVE)
    assert only(tmp_path).state == "interrupted"
    resume(only(tmp_path).path, clock=FakeClock(), advice=Judge(enough_at=5).advice())
    assert (statuses(only(tmp_path)), only(tmp_path).manifest["looks_ended"]) == (["ok"] * 10, "precision")


def test_progress_shows_the_time_to_the_next_analysis_and_the_last_result(tmp_path: Path) -> None:
    told: list[RunProgress] = []
    go(tmp_path, Judge(), told, launches=ADAPTIVE)
    after_first = next(one for one in told if len(one.rows) == 1)
    assert after_first.seconds_left == pytest.approx(9.0)  # five blocks of two launches of a second, one of them made
    after_look = next(one for one in told if one.looks)
    assert after_look.looks[0].sentence == "looked after 5"
    assert after_look.seconds_left == pytest.approx(6.0)  # three blocks more
    assert told[-1].seconds_left == 0.0
    assert all(one.adaptive for one in told)


def test_a_fixed_number_of_launches_has_no_interim_analysis(tmp_path: Path) -> None:
    judge = Judge()
    record = go(tmp_path, judge)
    assert judge.seen == []
    assert not record.manifest.keys() & {"looks", "looks_ended"}


# ---- launches that were disturbed --------------------------------------------------------------------------------------


def test_a_disturbed_launch_is_repeated_in_its_slot_and_stays_in_the_record(tmp_path: Path) -> None:
    record = go(tmp_path, Judge(noisy=(1,)), noise={"repeat": 3})
    rows = record.table("launches").sort("launch").to_dicts()
    assert [(row["slot"], row["attempt"], row["status"], row["reason"]) for row in rows] == [
        (0, 0, "ok", ""),
        (1, 0, "contaminated", "somebody compiled"),
        (1, 1, "ok", ""),
        (2, 0, "ok", ""),
        (3, 0, "ok", ""),
    ]


def test_the_last_try_counts_whatever_happens(tmp_path: Path) -> None:
    judge = Judge(noisy=tuple(range(100)))
    record = go(tmp_path, judge, noise={"repeat": 2}, factor={"levels": [1]}, launches={"per_configuration": 1})
    assert statuses(record) == ["contaminated", "contaminated", "ok"]
    assert judge.asked == [0, 1]


def test_without_repeats_disturbance_is_not_checked(tmp_path: Path) -> None:
    judge = Judge(noisy=tuple(range(100)))
    assert statuses(go(tmp_path, judge)) == ["ok"] * 4
    assert judge.asked == []


def test_launches_that_failed_and_fault_launches_are_never_called_contaminated(tmp_path: Path) -> None:
    InstantMaker.rules["made", 1] = "failed"
    judge = Judge(noisy=tuple(range(100)))
    record = go(tmp_path, judge, noise={"repeat": 1}, faults=[{"kind": "kill"}])
    rows = record.table("launches").to_dicts()
    assert {(row["role"], row["status"]) for row in rows if row["slot"] in (1, 4)} == {("timed", "failed"), ("fault", "ok")}


def test_a_disturbed_launch_that_was_the_last_before_an_interruption_is_made_again_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopping(InstantMaker):
        def make(self, job: Any) -> Any:
            made = super().make(job)
            if job.number == 1:
                self.context.stop.note(2)
            return made

    runner = Runner(name="training", check=lambda *_: None, run=lambda made: launch_loop.run(made, Stopping(made)), maker=Stopping)
    monkeypatch.setattr(catalog, "load", lambda package, name, load=catalog.load: runner if package == "runners" else load(package, name))
    with pytest.raises(Interrupted):
        go(tmp_path, Judge(noisy=(1,)), noise={"repeat": 2})
    assert statuses(only(tmp_path)) == ["ok", "contaminated"]
    resume(only(tmp_path).path, clock=FakeClock(), advice=Judge().advice())
    rows = only(tmp_path).table("launches").sort("launch").to_dicts()
    assert [(row["slot"], row["attempt"], row["status"]) for row in rows[:3]] == [(0, 0, "ok"), (1, 0, "contaminated"), (1, 1, "ok")]


def test_a_failing_judge_costs_no_launch(tmp_path: Path) -> None:
    judge = Judge()
    judge.disturbed = lambda *_: (_ for _ in ()).throw(RecordError("cannot be read"))  # type: ignore[method-assign]
    with pytest.raises(RecordError, match="cannot be read"):
        go(tmp_path, judge, noise={"repeat": 1})
    assert (only(tmp_path).state, statuses(only(tmp_path))) == ("interrupted", ["ok"])


# ---- the sentinel ----------------------------------------------------------------------------------------------------


def sentinel(record: Record) -> list[tuple[int, str]]:
    rows = record.table("telemetry").to_dicts()
    return sorted((row["launch"], row["counter"]) for row in rows if row["device"] == "sentinel")


def test_the_sentinel_is_read_before_and_after_every_launch(tmp_path: Path) -> None:
    record = go(tmp_path, None)
    assert sentinel(record) == [(launch, when) for launch in range(4) for when in ("after", "before")]


def test_no_sentinel_is_read_if_disabled_or_nothing_starts(tmp_path: Path) -> None:
    assert sentinel(go(tmp_path / "off", None, noise={"sentinel_s": 0.0})) == []
    record = go(tmp_path / "over", None, limits={"experiment_timeout_s": 1.5})
    assert {launch for launch, _ in sentinel(record)} == {0, 1}


def test_the_sentinels_work_is_the_same_after_a_resume(tmp_path: Path) -> None:
    InstantMaker.rules["made", 1] = "stop"
    with pytest.raises(Interrupted):
        go(tmp_path, None)
    record = only(tmp_path)
    manifest = {**record.manifest, "sentinel": {"rounds": 4_321}}
    (record.path / "manifest.json").write_text(json.dumps(manifest))
    InstantMaker.rules.clear()
    resume(record.path, clock=FakeClock())
    assert only(tmp_path).manifest["sentinel"] == {"rounds": 4_321}
