"""Are Inspect's scores of every sample, and its metrics, ours, and are failed samples no wrong answers?  Real logs of 0.3.285."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.recorded import reported
from fireassay.verdict.judge import judge
from tests.importers.harnesses.read_back import LOGS, imported, nothing_left, scores

pytestmark = pytest.mark.slow

REAL = LOGS / "inspect"
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RecordData]:
    """The record of a real log, made once."""
    return cache(lambda log: imported(tmp_path_factory.mktemp("log"), REAL / log))


def as_zip(tmp_path: Path, change: Callable[[dict[str, Any]], object] = lambda log: None, name: str = "log.eval") -> Path:
    """The log worse.json as a zip file of the layout of .eval, changed before."""
    log = json.loads((REAL / "worse.json").read_text())
    change(log)
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as file:
        for index, sample in enumerate(log.pop("samples")):
            file.writestr(f"samples/{index}_epoch_1.json", json.dumps(sample))
        file.writestr("header.json", json.dumps(log))
    return tmp_path / name


def test_every_value_of_every_sample_is_the_one_that_inspect_logged(real: Callable[[str], RecordData]) -> None:
    wanted: dict[tuple[str, str, int], dict[str, float]] = {}
    for sample in json.loads((REAL / "worse.json").read_text())["samples"]:
        told = {name: score["value"] for name, score in sample["scores"].items()}
        parts = told.pop("parts")
        wanted["sums", sample["id"], sample["epoch"] - 1] = {
            **{name: GRADES[grade] for name, grade in told.items()},
            "parts/length": float(parts["length"]),
            "parts/close": GRADES[parts["close"]],
        }
    assert len(wanted) == 20
    assert scores(real("worse.json")) == wanted


@pytest.mark.parametrize("log", ["good.eval", "worse.json", "epochs.eval", "failing.json"])
def test_its_metrics_are_computed_from_the_samples_to_1e_9(log: str, real: Callable[[str], RecordData]) -> None:
    rows = reported(real(log))
    assert len(rows) == 7
    for row in rows:
        assert row.same
        assert row.ours == pytest.approx(row.theirs, abs=1e-9)


def test_members_compressed_with_zstandard_are_read(real: Callable[[str], RecordData]) -> None:
    assert {member.compress_type for member in zipfile.ZipFile(REAL / "good.eval").infolist()} == {93}
    assert len(scores(real("good.eval"))) == 20


def test_epochs_are_repetitions(real: Callable[[str], RecordData]) -> None:
    measured = real("epochs.eval")
    assert sorted({repetition for _, _, repetition in scores(measured)}) == [0, 1, 2]
    assert len(scores(measured)) == 60
    assert judge(measured).results["match"]["answers=sums-good"].n_trials == 20  # type: ignore[union-attr]


def test_a_sample_that_failed_is_not_answered_and_never_wrong(real: Callable[[str], RecordData]) -> None:
    log = json.loads((REAL / "failing.json").read_text())
    failed = {sample["id"] for sample in log["samples"] if sample.get("error")}
    assert len(failed) == 5
    measured = real("failing.json")
    assert {row["item"] for row in measured.table("answers").filter(outcome="error").iter_rows(named=True)} == failed
    assert not failed & {item for _, item, _ in scores(measured)}
    assert judge(measured).verdict.status == "INVALID"


def test_a_run_that_stopped_is_doubted(real: Callable[[str], RecordData]) -> None:
    told = [found.evidence for found in judge(real("stopped.eval")).verdict.findings if found.rule == "foreign_doubts"]
    assert told == ["the run ended with the status error: samples may be missing"]


def test_a_reply_at_the_token_limit_counts_as_cut(real: Callable[[str], RecordData]) -> None:
    value = judge(real("good.eval")).results["cut_answers"]["answers=sums-good"]
    assert value.value == 1 / 20  # type: ignore[union-attr]


def test_a_reply_without_text_is_no_answer_and_scored_as_inspect_does(real: Callable[[str], RecordData]) -> None:
    measured = real("good.eval")
    assert judge(measured).results["no_answer"]["answers=sums-good"].value == 1 / 20  # type: ignore[union-attr]
    assert scores(measured)["sums", "s4-5", 0]["graded"] == 0.0


def test_two_logs_are_compared_sample_by_sample(tmp_path: Path) -> None:
    measured = imported(tmp_path, REAL / "good.eval", REAL / "worse.json", margin=0.05, metric="graded")
    (gate,) = judge(measured).verdict.gates
    assert gate.status == "INCONCLUSIVE"
    assert "4 items worse and 2 better of 20" in gate.sentence


def test_sides_of_other_limits_are_refused(tmp_path: Path) -> None:
    other = as_zip(tmp_path, lambda log: log["plan"]["config"].update(max_tokens=4))
    with pytest.raises(SpecError, match="sums: generation"):
        imported(tmp_path, REAL / "good.eval", other)
    assert nothing_left(tmp_path)


def test_a_value_that_only_the_scorer_understands_is_no_score(tmp_path: Path) -> None:
    measured = imported(tmp_path, as_zip(tmp_path, lambda log: [s["scores"]["graded"].update(value="B+") for s in log["samples"]]))
    assert "graded" not in {name for row in scores(measured).values() for name in row}
    assert any("graded" in words for words in (measured.foreign or {})["missing"])


@pytest.mark.parametrize(("value", "number"), [("yes", 1.0), ("FALSE", 0.0), ("0.25", 0.25), (True, 1.0), (3, 3.0), (float("nan"), None)])
def test_values_become_numbers_as_inspect_makes_them(value: object, number: float | None, tmp_path: Path) -> None:
    """inspect_ai.scorer.value_to_float 0.3.285."""
    measured = imported(tmp_path, as_zip(tmp_path, lambda log: log["samples"][0]["scores"]["graded"].update(value=value)))
    assert scores(measured)["sums", "s1-1", 0].get("graded") == number


def test_names_of_members_are_never_paths(tmp_path: Path) -> None:
    log = as_zip(tmp_path)
    with zipfile.ZipFile(log, "a") as file:
        file.writestr("samples/../../../escaped.json", json.dumps({"id": "x", "epoch": 1, "input": "", "target": "", "scores": {}}))
    imported(tmp_path, log)
    assert not list(tmp_path.rglob("escaped.json"))


def test_a_bomb_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    log = as_zip(tmp_path)
    with zipfile.ZipFile(log, "a", zipfile.ZIP_DEFLATED) as file, file.open("samples/bomb_epoch_1.json", "w", force_zip64=True) as member:
        for _ in range(65):
            member.write(b" " * (1 << 20))
    with pytest.raises(SpecError, match="more than 64 MiB"):
        imported(tmp_path, log)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("damage", [b"PK", b"", b"not a zip file at all"])
def test_what_is_no_zip_file_is_a_clear_error(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(damage)
    with pytest.raises(SpecError, match="no readable zip file"):
        imported(tmp_path, tmp_path / "log.eval")


@pytest.mark.parametrize("log", ["good.eval", "epochs.eval"])
def test_a_damaged_archive_never_escapes_as_another_error(log: str, tmp_path: Path) -> None:
    content = bytearray((REAL / log).read_bytes())
    for begin in range(0, len(content), max(1, len(content) // 12)):
        broken = content[:begin] + bytes(byte ^ 0xFF for byte in content[begin : begin + 40]) + content[begin + 40 :]
        (tmp_path / f"{begin}.eval").write_bytes(broken)
        try:
            imported(tmp_path / str(begin), tmp_path / f"{begin}.eval")
        except SpecError:
            assert nothing_left(tmp_path / str(begin))


def test_a_sample_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="twice in epoch 1"):
        imported(tmp_path, as_zip(tmp_path, lambda log: log["samples"].append(log["samples"][0])))


def test_an_id_as_a_number_and_as_a_text_is_named(tmp_path: Path) -> None:
    """Two samples, which are never one: not even in two epochs."""

    def mixed(log: dict[str, Any]) -> None:
        log["samples"][0]["id"], log["samples"][1]["id"] = 1, "1"
        log["samples"][1]["epoch"] = 2

    with pytest.raises(SpecError, match="found 1, as a text and as a number"):
        imported(tmp_path, as_zip(tmp_path, mixed))
    assert nothing_left(tmp_path)


def test_a_number_that_inspect_folds_otherwise_stands_beside_the_mean(tmp_path: Path) -> None:
    """As of epochs that are reduced by their mode: .933 beside .867."""

    def other(log: dict[str, Any]) -> None:
        entry = next(one for one in log["results"]["scores"] if one["scorer"] == "match")
        entry["reducer"] = "mode"
        entry["metrics"]["accuracy"]["value"] = 0.933

    (found,) = (one for one in judge(imported(tmp_path, as_zip(tmp_path, other))).verdict.findings if one.rule == "folded_otherwise")
    assert found.severity == "warning"
    assert found.evidence.startswith("Inspect reports 0.933 as match mode accuracy of sums, and the mean of its items is ")


def test_a_log_without_a_score_loses_no_other_in_its_folder(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()

    def unscored(log: dict[str, Any]) -> None:
        log["eval"]["task"] = "words"
        for sample in log["samples"]:
            sample["scores"] = {}

    as_zip(logs, unscored, "a.eval")
    as_zip(logs, name="b.eval")
    measured = imported(tmp_path, logs)
    assert {task for task, _, _ in scores(measured)} == {"sums"}
    assert any("the samples of a.eval: none has a score that is a number" in words for words in (measured.foreign or {})["missing"])


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e308])
def test_values_beyond_use_are_no_scores_and_named(number: float, tmp_path: Path) -> None:
    def spoilt(log: dict[str, Any]) -> None:
        log["samples"][3]["scores"]["parts"]["value"]["length"] = number

    measured = imported(tmp_path, as_zip(tmp_path, spoilt))
    assert sum("parts/length" not in found for found in scores(measured).values()) == 1
    assert any("1 values of parts/length are NaN, infinite or beyond use" in words for words in (measured.foreign or {})["doubts"])


def test_a_key_that_stands_twice_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text((REAL / "worse.json").read_text().replace('"epoch":', '"epoch": 1, "epoch":', 1))
    with pytest.raises(SpecError, match='the key "?.?epoch.? twice in one object'):
        imported(tmp_path, tmp_path / "log.json")
    with zipfile.ZipFile(as_zip(tmp_path), "a") as file:
        file.writestr("samples/99_epoch_1.json", '{"id": 99, "epoch": 1, "epoch": 2}')
    with pytest.raises(SpecError, match='the key "?.?epoch.? twice in one object'):
        imported(tmp_path, tmp_path / "log.eval")


def test_a_field_of_the_metadata_that_groups_the_samples_is_named(tmp_path: Path) -> None:
    def grouped(log: dict[str, Any]) -> None:
        for index, sample in enumerate(log["samples"]):
            sample["metadata"] = {"passage": f"p{index // 4}"}

    (found,) = (one for one in judge(imported(tmp_path, as_zip(tmp_path, grouped))).verdict.findings if one.rule == "grouped_items")
    assert "the field 'passage' puts 20 items into 5 groups" in found.evidence
