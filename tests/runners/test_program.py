"""Is a program started once per launch, does it learn its number of workers, and is what it leaves read, or refused?"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.runners.experiment.script import script_path
from fireassay.spec.load import from_mapping
from tests.programs_made import made

pytestmark = pytest.mark.slow


def why_failed(folder: Path, script: str, *arguments: str, **sections: Any) -> str:
    """Why its first launch failed, in the record and in the words of the error."""
    with pytest.raises(WorkloadError) as failed:
        made(folder, script, *arguments, levels=(1,), **sections)
    (record,) = record_folders(folder / "records")
    (reason,) = open_record(record).table("launches")["reason"]
    assert reason in str(failed.value)
    return str(reason)


def test_it_learns_its_number_of_workers_by_argument_and_by_variable(tmp_path: Path) -> None:
    script = 'echo "$1 $FIREASSAY_WORKERS $COUNT $(test -d "$FIREASSAY_OUT" && echo folder)" > "$2/said"'
    record = made(
        tmp_path, script, "{workers}", "{out}", workload={"environment": {"COUNT": "{workers}"}}, program={"result": ["{out}/said"]}
    )
    of = dict(record.table("launches").select("launch", "workers").iter_rows())
    said = dict(record.table("fingerprints").filter(pl.col("what") == "result").select("launch", "text").iter_rows())

    assert said == {launch: hashlib.sha256(f"{n} {n} {n} folder\n".encode()).hexdigest() for launch, n in of.items()}


def test_threads_of_the_program_are_its_own_affair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    record = made(tmp_path, 'echo "{\\"items\\": ${OMP_NUM_THREADS:-0}}" > "$1/n"', "{out}", levels=(1,), program={"numbers": "{out}/n"})
    assert record.table("events").filter(pl.col("kind") == "useful_work")["value"].to_list() == [7.0]


def test_what_one_launch_left_in_its_folder_no_other_finds(tmp_path: Path) -> None:
    record = made(tmp_path, 'test -z "$(ls "$1")"; echo x > "$1/left"', "{out}", launches=2)
    assert set(record.table("launches")["status"]) == {"ok"}
    assert not list(tmp_path.rglob("left")), "nothing of it is kept"


def test_the_result_may_be_cut_into_any_files(tmp_path: Path) -> None:
    script = (
        'if [ "$1" = 1 ]; then printf "a\\nb\\nc\\n" > "$2/part-0"; else printf "a\\n" > "$2/part-0"; printf "b\\nc\\n" > "$2/part-1"; fi'
    )
    record = made(tmp_path, script, "{workers}", "{out}", program={"result": ["{out}/part-*"]})
    assert record.table("fingerprints")["text"].n_unique() == 1
    assert record.table("fingerprints")["value"].to_list() == [6.0, 6.0]  # bytes


@pytest.mark.parametrize(("any_order", "different"), [(False, 2), (True, 1)])
def test_the_order_of_lines_counts_unless_it_says_nothing(tmp_path: Path, any_order: bool, different: int) -> None:
    script = 'if [ "$1" = 1 ]; then printf "a\\nb\\na\\n" > "$2/out"; else printf "a\\na\\nb\\n" > "$2/out"; fi'
    record = made(tmp_path, script, "{workers}", "{out}", program={"result": ["{out}"], "any_order": any_order})
    assert record.table("fingerprints")["text"].n_unique() == different


def test_in_any_order_a_line_that_is_there_twice_counts_twice(tmp_path: Path) -> None:
    script = 'if [ "$1" = 1 ]; then printf "a\\nb\\nb\\n" > "$2/out"; else printf "a\\na\\nb\\n" > "$2/out"; fi'
    record = made(tmp_path, script, "{workers}", "{out}", program={"result": ["{out}/out"], "any_order": True})
    assert record.table("fingerprints")["text"].n_unique() == 2


def test_a_result_that_was_not_written_fails_the_launch(tmp_path: Path) -> None:
    reason = why_failed(tmp_path, "true", program={"result": ["out.txt"]})
    assert '"out.txt", which the program did not write' in reason


def test_a_result_that_another_run_left_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("stale\n")
    os.utime(tmp_path / "out.txt", (1e9, 1e9))
    reason = why_failed(tmp_path, "true", program={"result": ["out.txt"]})
    assert "out.txt, older than the launch" in reason


def test_numbers_scores_and_rankings_are_rows(tmp_path: Path) -> None:
    script = (
        'echo \'{"items": 12, "bytes": 340, "other": "x"}\' > "$1/n"; echo \'{"id": "q1", "score": 0.5, "cluster": "p"}\' > "$1/s"; '
        'printf \'{"query": 1, "ids": [3, 1], "relevant": [1]}\\n\\n{"query": 2, "ids": []}\\n\' > "$1/r"'
    )
    left = {"numbers": "{out}/n", "scores": "{out}/s", "rankings": "{out}/r"}
    record = made(tmp_path, script, "{out}", levels=(1,), program=left, quality={"metric": "recall_at_2"})
    events = record.table("events").filter(pl.col("kind").is_in(["useful_work", "moved_bytes"]))
    assert dict(events.select("kind", "value").iter_rows()) == {"useful_work": 12.0, "moved_bytes": 340.0}
    rows = record.table("examples").sort("example").select("metric", "example", "prediction", "target", "score", "cluster").rows()
    assert rows == [
        ("ranking", "1", '["3", "1"]', json.dumps({"1": 1.0}), 2.0, None),
        ("ranking", "2", "[]", "{}", 0.0, None),  # not against the base's, as the other is not
        ("recall_at_2", "q1", None, None, 0.5, "p"),
    ]


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("numbers", "[1]", "a JSON object"),
        ("numbers", '{"items": -1}', "from 0"),
        ("numbers", '{"items": NaN}', "from 0"),
        ("numbers", '{"items": 1e308}', "from 0"),
        ("numbers", '{"rows": 3}', "an object with"),
        ("scores", "", "empty"),
        ("scores", '{"id": 1, "score": "high"}', "line 1"),
        ("scores", '{"id": 1, "score": 1}\n{"id": "1", "score": 0}', "again"),
        ("scores", "{]", "line 1"),
        ("rankings", '{"query": 1, "ids": ["a", "a"]}', "an id twice"),
        ("rankings", '{"query": 1}', "ids"),
        ("rankings", '{"query": 1, "ids": ["a"], "relevant": {"a": -1}}', "grades of at least 0"),
    ],
)
def test_what_cannot_be_read_fails_the_launch_and_names_the_line(tmp_path: Path, key: str, text: str, said: str) -> None:
    (tmp_path / "given").write_text(text)
    reason = why_failed(tmp_path, 'cp given "$1/left"', "{out}", program={key: "{out}/left"}, quality={"metric": "recall_at_2"})
    assert f"program.{key}" in reason
    assert said in reason
    assert str(tmp_path) not in reason


def test_a_program_that_hangs_is_ended_and_no_steps_are_spoken_of(tmp_path: Path) -> None:
    reason = why_failed(tmp_path, "echo waiting; exec sleep 1000", limits={"launch_timeout_s": 3.0, "grace_s": 0.5})
    assert "still running after limits.launch_timeout_s = 3 s, and was ended; its last output was: waiting" in reason


def test_a_program_that_fails_says_its_last_words(tmp_path: Path) -> None:
    reason = why_failed(tmp_path, "echo no space >&2; exit 3")
    assert "exited with code 3" in reason
    assert "no space" in reason


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"workload": {"runner": "training"}, "program": {"items": 3}}, "[program] only"),
        ({"program": {"any_order": True}}, "only with program.result"),
        ({"program": {"relevant": "x"}}, "only with program.rankings"),
        ({"program": {"rankings": "x"}}, "a score that decides"),
        ({"faults": [{"kind": "kill"}]}, "none with"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(tmp_path: Path, sections: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as refused:
        made(tmp_path, "true", **sections)
    assert said in str(refused.value)


def test_a_program_that_does_not_exist_is_refused_before_there_is_a_record(tmp_path: Path) -> None:
    asked = from_mapping({"name": "none", "workload": {"runner": "program", "script": "./none"}, "factor": {"levels": [1, 2]}})
    with pytest.raises(SpecError, match="does not exist"):
        run(asked, root=tmp_path / "records", folder=tmp_path)
    assert not (tmp_path / "records").exists()


def test_a_script_of_another_language_is_no_training_and_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"--runner program -- \./job\.sh \{workers\}"):
        made(tmp_path, "true", workload={"runner": "training"})


def test_the_link_by_which_a_program_is_named_is_kept(tmp_path: Path) -> None:
    """The python of a virtual environment is a link to another environment's: its target would find other packages."""
    (tmp_path / "real").mkdir()
    (tmp_path / "env").mkdir()
    (tmp_path / "real" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "env" / "tool").symlink_to("../real/tool")
    for runner in ("program", "command"):
        experiment = from_mapping({"name": "a", "workload": {"runner": runner, "script": "./env/tool"}, "factor": {"levels": [1]}})
        assert script_path(experiment, tmp_path) == tmp_path / "env" / "tool"
