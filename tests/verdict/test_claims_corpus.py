"""Claims with known answers: the audits find what is wrong in them, and nothing else (`tests/verdict/corpus`, `benchmarks/claims.py`)."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus() -> Path:
    return Path(__file__).parent / "corpus"


@pytest.fixture(scope="module")
def benchmark(corpus: Path) -> dict[str, Any]:
    return runpy.run_path(str(corpus.parents[2] / "benchmarks" / "claims.py"))


def test_every_claim_has_its_label_and_every_label_its_claim(corpus: Path) -> None:
    labels = tomllib.loads((corpus / "labels.toml").read_text(encoding="utf-8"))
    assert {path.stem for path in corpus.glob("*.toml")} - {"labels"} == set(labels)
    audits = set(catalog.load_all("verdict.claims.audits"))
    assert {pitfall for label in labels.values() for pitfall in label["pitfalls"]} <= audits
    assert all((label["status"] == "unsound") is bool(label["pitfalls"]) for label in labels.values())


def test_half_of_the_corpus_is_published_and_a_third_sound(corpus: Path) -> None:
    labels = tomllib.loads((corpus / "labels.toml").read_text(encoding="utf-8")).values()
    groups = [label["group"] for label in labels if label["group"] in ("published", "sound", "made")]
    assert len(groups) >= 60
    assert groups.count("published") >= len(groups) / 2
    assert groups.count("sound") >= len(groups) / 3
    assert all(label["url"].startswith("https://") and label["quote"] for label in labels if label["group"] == "published")


def test_precision_is_098_and_recall_095(benchmark: dict[str, Any]) -> None:
    answers = list(benchmark["audited"]())
    assert benchmark["broken"](answers) == []
    for part in (True, False):  # held out or not
        own = benchmark["score"]([answer for answer in answers if answer.held_out is part])
        assert (own.precision >= benchmark["PRECISION"], own.recall >= benchmark["RECALL"]) == (True, True)
