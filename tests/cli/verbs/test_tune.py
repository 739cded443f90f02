"""`assay tune`: the faster setting is found, and what loses quality or does less work is not taken for it."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.tuning_rounds import _Left, planned
from fireassay.cli import main
from fireassay.errors import Interrupted, SpecError, WorkloadError
from fireassay.reports.documents.tuning import DOCUMENT
from fireassay.runners.experiment.progress import LaunchProgress, RunProgress
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.tune import Setting, Tune, check, choices, left_out, rounds_at_most, shown, varying
from tests.reports.documents.conforming import conforming

KNOBS = Path(__file__).parents[1] / "knobs.py"


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "name": "knobs",
        "workload": {"script": str(KNOBS), "arguments": ["{batch}", "{sloppy}", "{less}"]},
        "factor": {"levels": [1]},
        "launcher": {"kind": "plain"},
        "quality": {"metric": "accuracy", "margin": 0.02},
        "tune": {"knobs": {"batch": [2, 8], "sloppy": ["no", "yes"], "less": [0, 32]}},
        **changes,
    }


TOML = """
name = "knobs"
workload = { script = "SCRIPT", arguments = ["{batch}", "no", "{less}"] }
factor = { levels = [1] }
launcher = { kind = "plain" }
quality = { metric = "accuracy", margin = 0.02 }
[tune]
combine = "one"
first_blocks = 1
keep = 0.5
final_blocks = 5
[tune.knobs]
batch = [2, 8]
less = [0, 32]
"""


@dataclass
class Tuning:
    """One tuning of three arms, made once for this module."""

    file: Path
    root: Path
    code: int
    found: dict[str, Any]

    def again(self, *more: str) -> int:
        return main(["tune", str(self.file), "--root", str(self.root), "--full", *more])

    def records(self) -> list[str]:
        return sorted(one.name for one in self.root.iterdir())


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> Tuning:
    folder = tmp_path_factory.mktemp("tuning")
    (folder / "tune.toml").write_text(TOML.replace("SCRIPT", str(KNOBS)))
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(["tune", str(folder / "tune.toml"), "--root", str(folder / "records"), "--quiet", "--json"])
    return Tuning(folder / "tune.toml", folder / "records", code, json.loads(out.getvalue()))


def stopped_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every session is interrupted as it begins; the list tells of how many arms each was."""
    asked: list[int] = []

    def interrupted(arms: list[Any], **_: Any) -> None:
        asked.append(len(arms))
        raise Interrupted("stopped")

    monkeypatch.setattr("fireassay.runners.experiment.run.run_together", interrupted)
    return asked


@pytest.mark.survival
def test_the_faster_setting_is_found_and_nothing_is_traded_for_it(tuning: Tuning) -> None:
    found = tuning.found
    assert tuning.code == 0
    assert found["adopted"] == {"batch": 8, "less": 0}
    assert "quality held" in found["sentence"]
    arms = {one["label"]: one for one in found["rounds"][0]["arms"]}
    assert set(arms) == {"today", "batch=8", "less=32"}
    assert arms["less=32"]["out"] == "different work: 32 items in a launch with workers=1 instead of 64"
    assert arms["batch=8"]["gain"] > 1.5
    assert arms["batch=8"]["goes_on"]
    assert found["final"]["sides"] == ["today", "batch=8"]
    kept = [*(one["record"] for one in arms.values()), *found["final_records"]]
    assert sorted(Path(one).name for one in kept) == tuning.records()


@pytest.mark.survival
def test_resuming_makes_no_round_again_that_is_whole(tuning: Tuning, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tuning.records()
    page = tmp_path / "page.html"
    assert tuning.again("--resume", "--html", str(page)) == 0
    said = capsys.readouterr()
    assert tuning.records() == before
    assert said.err.count("already measured") == 2
    assert "Use batch=8" in said.out
    assert "dropped: different work" in " ".join(said.out.split())
    text = page.read_text()
    assert "batch = 8, less = 0" in text
    assert "dropped: different work" in text
    assert tuning.again("--resume", "--html", str(tmp_path), "--json") == 0  # a page that cannot be written costs no result
    said = capsys.readouterr()
    assert "cannot write" in said.err
    assert json.loads(said.out) == tuning.found


@pytest.mark.survival
def test_the_page_holds_every_metric_of_the_last_round_and_what_differs(tuning: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    """A reader who is shown only the metric that decided cannot see what was traded for it."""
    assert tuning.again("--quiet", "--resume", "--markdown") == 0
    page = capsys.readouterr().out
    for words in ("Throughput (decides)", "Step time", "Peak memory of a rank", "workload.arguments"):
        assert words in page


@pytest.mark.survival
def test_a_round_that_is_not_whole_or_of_another_script_is_made_again(
    tuning: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one record of the last round, that round alone is; with another script, all of them."""
    asked = stopped_at_once(monkeypatch)
    copy = tmp_path / "records"
    shutil.copytree(tuning.root, copy)
    shutil.rmtree(next(copy.glob("knobs-1-1-*")))
    begun = ["tune", str(tuning.file), "--root", str(copy), "--quiet"]
    assert main([*begun, "--resume"]) == 130
    told = capsys.readouterr().err
    assert asked == [2]
    assert "interrupted in round 2" in told
    assert "with --resume continues this round" in told
    assert main(begun) == 130
    assert asked == [2, 3]
    (tmp_path / "other.py").write_text(KNOBS.read_text() + "# changed\n")
    (tmp_path / "tune.toml").write_text(TOML.replace("SCRIPT", str(tmp_path / "other.py")))
    assert main(["tune", str(tmp_path / "tune.toml"), "--root", str(copy), "--quiet", "--resume"]) == 130
    assert asked == [2, 3, 3]


def later(root: Path, pattern: str, *, session: str = "", stopped: bool = False) -> None:
    """Copies of these records as a later session left them: whole, or stopped; `session` "": before anything was noted."""
    for path in list(root.glob(pattern)):
        name, _, own = path.name.rsplit("-", 2)
        copy = root / f"{name}-29990101T000000Z-{own}"
        shutil.copytree(path, copy)
        if stopped:
            manifest = json.loads((copy / "manifest.json").read_text())
            manifest |= {"state": "interrupted", "session": {"id": session}}
            if not session:
                del manifest["session"]
                manifest["environment"]["before"] = None
            (copy / "manifest.json").write_text(json.dumps(manifest))
        else:
            shutil.rmtree(path)


@pytest.mark.survival
@pytest.mark.parametrize("session", ["a later one", ""])
def test_an_earlier_tuning_is_not_taken_for_the_one_that_was_interrupted(
    tuning: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: str
) -> None:
    """Tuned to the end; begun anew, and stopped in the first round: that round is made again."""
    asked = stopped_at_once(monkeypatch)
    copy = tmp_path / "records"
    shutil.copytree(tuning.root, copy)
    later(copy, "knobs-0-1-*", session=session, stopped=True)
    assert main(["tune", str(tuning.file), "--root", str(copy), "--quiet", "--resume"]) == 130
    assert asked == [3]


@pytest.mark.survival
def test_a_round_that_is_older_than_the_one_before_it_is_made_again(
    tuning: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tuned to the end; begun anew, and stopped between two rounds: the last round is of the earlier tuning."""
    asked = stopped_at_once(monkeypatch)
    copy = tmp_path / "records"
    shutil.copytree(tuning.root, copy)
    later(copy, "knobs-0-*")
    assert main(["tune", str(tuning.file), "--root", str(copy), "--quiet", "--resume"]) == 130
    assert asked == [2]


@pytest.mark.slow
@pytest.mark.deep
def test_an_arm_that_fails_goes_out_and_the_others_are_judged(
    tuning: Tuning, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The session says that an arm failed after all were made: their records are found, whatever their names' last digits are."""

    def failed(*_: Any, **__: Any) -> None:
        raise WorkloadError("arm less=32: it failed")

    monkeypatch.setattr("fireassay.runners.experiment.run.run_together", failed)
    assert tuning.again("--json") == 0
    assert conforming(DOCUMENT, capsys.readouterr().out) == tuning.found


def test_the_time_left_is_that_of_all_rounds() -> None:
    """Two of 12 launches are over after 4 and 6 s, a third has run for 2 s: 10 x 5 - 2."""
    shown: list[RunProgress] = []
    walls: list[float] = []
    left = _Left(shown.append, walls, 12)
    rows = [{"begin_ns": 0, "end_ns": 4 * 10**9}, {"begin_ns": 0, "end_ns": 6 * 10**9}]
    for record, own in (("a", rows[:1]), ("b", rows[1:])):
        progress = RunProgress(record=Path(record), plan=(), rows=tuple(own), running=None, seconds_left=1.0)
        left.report(progress)
    running = LaunchProgress(
        number=1,
        planned=None,
        elapsed_s=2.0,
        steps=0,
        steps_per_s=None,
        ranks=0,
        incarnation=0,  # type: ignore[arg-type]
    )
    left.report(replace(shown[-1], running=running))
    assert [one.seconds_left for one in shown] == [4.0 * 11, 5.0 * 10, 48.0]


# ---- what is tried out


def test_a_grid_holds_every_combination_and_one_at_a_time_every_value() -> None:
    three = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)})
    assert [one.label for one in choices(three)] == ["today", "b=2", "a=2", "a=2 b=2", "a=3", "a=3 b=2"]
    single = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, combine="one")
    assert [one.label for one in choices(single)] == ["today", "a=2", "a=3", "b=2"]
    few = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, combine="grid", at_most=4)
    assert (len(choices(few)), left_out(few)) == (4, 2)
    assert [one.label for one in choices(Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, at_most=5))] == ["today", "a=2", "a=3", "b=2"]


def test_a_dry_run_lists_the_arms() -> None:
    text = planned(Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, at_most=5), 2)
    assert "5 arms; the first" not in text  # one at a time: 4
    assert "4 arms; the first" in text
    assert "round 1: at most 4 arms, 2 launches of each; 50% of those other than today's continue" in text
    assert "last round, which alone decides: at most 3 arms, 5 launches of each" in text
    assert text.endswith("at most 46 launches in all")  # 2 levels x (4 x 2 + 3 x 5)
    assert "1 more are not tried" in planned(Tune(knobs={"a": (1, 2, 3)}, at_most=2), 1)


def test_rounds_halve_until_one_is_left_beside_todays() -> None:
    assert rounds_at_most(Tune(knobs={"a": tuple(range(8))})) == ((8, 2), (4, 4), (2, 5))
    assert rounds_at_most(Tune(knobs={"a": (1, 2)})) == ((2, 5),)


@pytest.mark.parametrize(
    ("tune", "words"),
    [
        (None, "tune: found nothing; allowed: knobs and their values"),
        ({"knobs": {"depth": [1, 2]}}, r"tune.knobs.depth: found \{depth\} in no argument.*--depth"),
        ({"knobs": {"seed": [1, 2]}}, "tune.knobs.seed: found 'seed'; allowed: another name"),
        ({"knobs": {"batch": [1]}}, "tune.knobs.batch: found 1; allowed: at least 2 values, the first of them today's"),
        ({"knobs": {"batch": [1, 1.0]}}, "tune.knobs.batch: found 1, 1; allowed: every value once"),
    ],
)
def test_knobs_that_turn_nothing_are_refused(tune: dict[str, Any] | None, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        check(from_mapping(asked(tune=tune) if tune else {k: v for k, v in asked().items() if k != "tune"}))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-4, "0.0001"),
        (64.0, "64"),
        (0.1, "0.1"),
        (True, "true"),
        (7, "7"),
        ("Adam", "Adam"),
        (1e6, "1e+06"),
        (0.00012345678, "0.00012345678"),
        (1234567.5, "1234567.5"),
    ],
)
def test_a_script_gets_the_very_value_that_was_asked_for(value: Setting, text: str) -> None:
    assert shown(value) == text
    near = from_mapping(asked(tune={"knobs": {"batch": [0.12345678, 0.12345679]}}))
    assert [one.label for one in choices(check(near))] == ["today", "batch=0.12345679"]


def test_another_verb_refuses_knobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tune.toml").write_text(TOML.replace("SCRIPT", str(KNOBS)))
    assert main(["run", str(tmp_path / "tune.toml"), "--root", str(tmp_path / "records"), "--quiet"]) == 2
    assert "assay tune FILE" in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


def test_only_what_is_turned_is_studied() -> None:
    experiment = from_mapping(asked())
    assert experiment.tune is not None
    assert varying(experiment, experiment.tune) == ("conditions.batch", "conditions.sloppy", "conditions.less", "workload.arguments")
