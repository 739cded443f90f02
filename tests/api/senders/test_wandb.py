"""W&B's own messages, read from its offline files, hold every value with its interval and verdict; nothing of this machine's keys."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.senders import wandb as sender
from fireassay.reports.exports.export import Subject
from tests.canary import found_in

pytest.importorskip("wandb", reason="wandb is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of wandb

KEY = "0123456789abcdef" * 2 + "canary42"
BLOCK = 32_768


def messages(run: Path) -> Iterator[Any]:
    """The messages of a .wandb file: a log of LevelDB's form (blocks of records: CRC, length, whole or first/middle/last part)."""
    from wandb.proto import wandb_internal_pb2

    (file,) = run.glob("run-*.wandb")
    content, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(content):
        crc, length, part = struct.unpack_from("<IHB", content, at)
        if BLOCK - at % BLOCK < 7 or not part:  # the rest of a block
            at += BLOCK - at % BLOCK
            continue
        data = content[at + 7 : at + 7 + length]
        assert crc == zlib.crc32(data, zlib.crc32(bytes([part])))
        whole += data
        at += 7 + length
        if part in (1, 4):
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


def read(run: Path) -> dict[str, Any]:
    """What is in a run."""
    made: dict[str, Any] = {"summary": {}, "history": [], "config": {}, "files": set()}
    for message in messages(run):
        kind = message.WhichOneof("record_type")
        if kind == "run":
            made |= {
                "name": message.run.display_name,
                "id": message.run.run_id,
                "group": message.run.run_group,
                "tags": set(message.run.tags),
            }
            made |= {"project": message.run.project, "notes": message.run.notes}
            made["config"] |= {one.key: json.loads(one.value_json) for one in message.run.config.update}
        elif kind == "summary":
            made["summary"] |= {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in message.summary.update}
        elif kind == "history":
            made["history"].append({"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in message.history.item})
        elif kind == "files":
            made["files"] |= {one.path for one in message.files.files}
    return made


def exported(folder: Path) -> dict[str, dict[str, Any]]:
    """Each run by its configuration."""
    every = [read(run) for run in sorted((folder / "wandb").glob("offline-run-*"))]
    return {one["config"]["configuration"]: one for one in every}


def test_every_value_interval_verdict_and_digest_is_read_back(training: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(view=replace(training.view, seal="ab" * 32), options={"project": "mine"})
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_MODE", "online")
    before = dict(os.environ)
    sent = sender.send(subject, Path(), str(tmp_path))
    assert dict(os.environ) == before
    assert sent.new
    runs = exported(tmp_path)
    rows = {
        (configuration, name.rpartition("/")[2]): row
        for configuration, run in runs.items()
        for name, row in run["summary"].items()
        if not name.startswith("_")
    }
    for metric in subject.document["metrics"]:
        row = rows[metric["configuration"], metric["metric"]]
        assert [row[end] for end in ("value", "low", "high", "confidence")] == [
            metric.get(end) for end in ("value", "low", "high", "confidence")
        ]
        assert row["unit"] == metric["unit"]
        if not metric["measured"]:
            assert (row["standing"], row["reason"]) == (metric["reason"], metric["detail"])
    verdict = subject.document["verdict"]
    for run in runs.values():
        config = run["config"]
        assert (config["fireassay.digest"], config["fireassay.status"]) == ("ab" * 32, verdict["status"])
        assert (run["project"], run["group"]) == ("mine", subject.head.record)
        assert verdict["status"] in run["tags"]
        assert verdict["sentence"] in run["notes"]
    assert runs["all"]["files"] >= {"assay-report.json", "report.html", "values.json"}
    steps = {
        (item["_step"], name.rpartition("_")[2]): value
        for run in runs.values()
        for item in run["history"]
        for name, value in item.items()
        if name.startswith("step_seconds/")
    }
    timed = subject.measured.global_steps.filter(subject.measured.global_steps["launch"].is_in(subject.measured.timed["launch"].to_list()))
    assert steps == {(step, str(launch)): seconds for launch, step, seconds in timed.select("launch", "step", "step_s").iter_rows()}
    assert found_in(tmp_path, b"", secrets=(KEY,)) == []
    files = sorted(tmp_path.rglob("*"))
    assert sender.send(subject, Path(), str(tmp_path)).new is False
    assert sorted(tmp_path.rglob("*")) == files


def test_an_invalid_record_says_so_and_an_interruption_leaves_no_run(
    late: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = sender._place
    monkeypatch.setattr(sender, "_place", lambda made, *at: place(made, *at) if made == sender._id(late, "rate=6") else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sender.send(late, Path(), str(tmp_path))
    assert [path.name.rpartition("-")[2] for path in (tmp_path / "wandb").iterdir()] == [sender._id(late, "rate=6")]
    monkeypatch.undo()
    assert sender.send(late, Path(), str(tmp_path)).new
    runs = exported(tmp_path)
    assert {run["name"] for run in runs.values()} == {f"INVALID {late.head.record}", "INVALID rate=6"}
    assert all({"INVALID", "invalid"} <= run["tags"] for run in runs.values())
    values = {name: row for run in runs.values() for name, row in run["summary"].items() if isinstance(row, dict) and "metric" in row}
    assert {row["admissible"] for row in values.values()} == {False}
    assert all(name.startswith("invalid/") for name, row in values.items() if row["value"] is not None)
