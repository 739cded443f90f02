"""Are GenAI-Bench's prompts put to an engine of the images API, and is everything that it makes kept?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import ImageColor

from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import from_record
from fireassay.instruments.reference_server.media import drawn
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners import evaluation
from fireassay.runners.evaluating import pictures
from fireassay.runners.evaluating.images import check, kept_at
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from fireassay.verdict.judge import judge
from tests.instruments.raw_client import served
from tests.quality.tasks import genai_made as made
from tests.runners.evaluating import colour_model

PROMPTS = 24


def experiment(folder: Path, *urls: str, options: dict[str, Any] | None = None, margin: float | None = None) -> dict[str, Any]:
    made.as_json(folder / "data", PROMPTS)
    targets = [{"name": name, "urls": [url], "options": options or {}} for name, url in zip("ab", urls, strict=False)]
    return {
        "name": "images",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {"task": "genai_bench", "data": "data", "task_options": {"size": "48x32"}},
        "serving": {
            **LOAD,
            "model": "painter",
            "task": "text_to_image",
            "concurrency": [4],
            "targets": targets,
            "prompts": {"source": "data", "cache": "as_is"},
        },
        **({"quality": {"metric": "image_made", "margin": margin}} if margin is not None else {}),
    }


@pytest.mark.slow
def test_every_prompt_becomes_an_image_that_is_kept(tmp_path: Path) -> None:
    with served(first_s=0.001) as server:
        path = run(from_mapping(experiment(tmp_path, server.url)), folder=tmp_path, root=tmp_path / "records")
    measured, folder = from_record(open_record(path)), kept_at(path)
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert [line["id"] for line in sorted(lines, key=lambda line: line["id"])] == [f"{n:05d}" for n in range(1, PROMPTS + 1)]
    for line in lines:
        assert (folder / line["image"]).read_bytes() == drawn(line["prompt"], 48, 32, 0)
        number = int(line["id"])
        assert line.get("skill", []) == sorted([*made.skills(number)[0], *made.skills(number)[1], *made.level(number)])
    assert verify(path) == ()
    judgement = judge(measured)
    assert judgement.verdict.status == "MEASURED"
    score, rate = (next(iter(judgement.results[name].values())) for name in ("image_made", "image_throughput"))
    assert isinstance(score, Estimate)
    assert isinstance(rate, Estimate)
    assert score.value == 1.0
    counted = {row.label: row.items for row in rows(measured, {name: name for name in measured.configurations}).groups}
    assert counted["attribute"] == PROMPTS // 2
    assert counted["universal"] == PROMPTS // 11


@pytest.mark.slow
def test_images_of_another_size_are_none_and_two_engines_are_compared(tmp_path: Path) -> None:
    with served(first_s=0.001) as right, served(first_s=0.001) as other:
        data = experiment(tmp_path, right.url, other.url, margin=0.2)
        data["serving"]["targets"][1]["options"] = {"image_size": "8x8"}
        path = run(from_mapping(data), folder=tmp_path, root=tmp_path / "records")
    judgement = judge(from_record(open_record(path)))
    assert judgement.verdict.status == "FAIL"
    assert {file.name for file in kept_at(path).glob("*.jsonl")} == {"a.jsonl", "b.jsonl"}


COLOURS = {"red": (220, 30, 30), "green": (30, 160, 60), "blue": (40, 70, 220)}


def likeness(drawing: str, wanted: str) -> float:
    """2.5 times the cosine of a colour and the mean of a drawing of 48 x 32, of which a square of 16 x 16 is not white."""
    share = 16 * 16 / (48 * 32)
    mean = np.array([share * part + (1.0 - share) * 255.0 for part in COLOURS[drawing]])
    colour = np.array(ImageColor.getrgb(wanted), dtype=float)
    return 2.5 * float(mean @ colour) / float(np.linalg.norm(mean) * np.linalg.norm(colour))


@pytest.mark.slow
def test_what_an_engine_made_is_scored_against_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.models, "load", colour_model.load)
    (tmp_path / "colours").mkdir()
    whole = {f"{number:05d}": {"prompt": f"a square in {name}"} for number, name in enumerate(COLOURS)}
    (tmp_path / "colours" / "genai_image.json").write_text(json.dumps(whole))
    with served(first_s=0.001) as server:
        data = experiment(tmp_path, server.url)
        data["evaluation"] |= {"data": "colours", "metrics": ["clipscore", "image_made"], "options": {"clipscore.model": "colours"}}
        path = run(from_mapping(data), folder=tmp_path, root=tmp_path / "records")
    measured = from_record(open_record(path))
    found = measured.table("scores").filter(pl.col("metric") == "clipscore").sort("item")["score"].to_list()
    assert found == pytest.approx([likeness(name, name) for name in COLOURS])
    assert measured.table("images").select("width", "height", "format").unique().rows() == [(48, 32, "PNG")]
    assert (measured.table("images")["thumbnail"].null_count(), verify(path)) == (0, ())
    assert set(measured.table("answers")["outcome"]) == {"ok"}


@pytest.mark.slow
def test_a_link_in_place_of_an_image_is_no_wrong_answer(tmp_path: Path) -> None:
    with served(first_s=0.001) as server:
        data = experiment(tmp_path, server.url, options={"body.response_format": "url"})
        measured = from_record(open_record(run(from_mapping(data), folder=tmp_path, root=tmp_path / "records")))
    assert set(measured.table("answers")["outcome"]) == {"no score: a link in place of an image"}
    assert judge(measured).verdict.status == "INVALID"


def test_images_cannot_be_kept_by_clients_on_other_hosts(tmp_path: Path) -> None:
    checked = from_mapping(experiment(tmp_path, "http://127.0.0.1:1"))
    check(checked, ())
    launcher = checked.launcher.model_copy(update={"hosts": ("one",)})
    with pytest.raises(SpecError, match="clients on this machine"):
        check(checked.model_copy(update={"launcher": launcher}), ())


def test_a_score_against_reference_images_is_refused_for_a_task_of_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.models, "load", colour_model.load)
    data = experiment(tmp_path, "http://127.0.0.1:1")
    data["evaluation"] |= {"metrics": ["clipscore"], "options": {"clipscore.model": "colours", "clipscore.against": "image"}}
    with pytest.raises(SpecError, match=r"clipscore\.against=image; allowed: clipscore\.against=text: the task has prompts"):
        evaluation.check(from_mapping(data), tmp_path)
