"""Do the programs of examples/programs keep their result with two workers, and does the lossy index lose neighbours?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.limits import PROCESS_S

pytestmark = pytest.mark.slow
PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "programs"
WORD_COUNT, SHARDED_INDEX, PIPELINE = "programs/word_count.py", "programs/sharded_index.py", "programs/pipeline.sh"
ON_RAY = "programs/ray_word_count.py"


def left(folder: Path, example: str, workers: int, *words: str) -> Path:
    out = folder / f"{workers}{''.join(words)}"
    out.mkdir()
    program = PROGRAMS / example.removeprefix("programs/")
    start = [sys.executable, str(program)] if program.suffix == ".py" else [str(program)]
    subprocess.run([*start, str(workers), str(out), *words], check=True, capture_output=True, timeout=PROCESS_S)
    return out


def test_words_are_counted_alike_by_any_number_of_processes(tmp_path: Path) -> None:
    counts = []
    for workers in (1, 2):
        out = left(tmp_path, WORD_COUNT, workers, "8000")
        assert len(list(out.glob("part-*"))) == workers
        lines = [line.split("\t") for part in out.glob("part-*") for line in part.read_text().splitlines()]
        counts.append(Counter({word: int(count) for word, count in lines}))
        assert len(counts[-1]) == len(lines), "a word stands in one part"
    assert counts[0] == counts[1]
    assert counts[0].total() == 8000
    numbers = [json.loads((tmp_path / f"{workers}8000" / "numbers.json").read_text()) for workers in (1, 2)]
    assert [one["items"] for one in numbers] == [8000, 8000]
    assert numbers[0]["bytes"] == 0 < numbers[1]["bytes"]


@pytest.mark.deep
def test_ray_counts_the_same_words(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is an engine of clusters, no dependency")
    (tmp_path / "ray").mkdir()
    counted = {folder: left(tmp_path / folder, example, 1, "8000") for folder, example in ((".", WORD_COUNT), ("ray", ON_RAY))}
    assert len({(out / "part-0").read_text() for out in counted.values()}) == 1


def test_all_shards_find_what_one_finds_and_the_nearest_alone_does_not(tmp_path: Path) -> None:
    small = ("--vectors", "3000", "--queries", "40")

    def found(workers: int, *words: str) -> dict[int, list[int]]:
        text = (left(tmp_path, SHARDED_INDEX, workers, *small, *words) / "rankings.jsonl").read_text()
        return {row["query"]: row["ids"] for row in map(json.loads, text.splitlines())}

    one = found(1)
    assert len(one) == 40
    assert all(len(set(ids)) == 10 for ids in one.values())
    assert found(2) == one
    assert found(2, "--nearest-shard") != one


@pytest.mark.parametrize("vectors", [40, 2000])
def test_the_neighbours_are_those_of_a_full_sort_also_of_shards_with_fewer_than_ten(tmp_path: Path, vectors: int) -> None:
    """40 vectors in 8 shards."""
    drawn = np.random.default_rng(7)
    stored, queries = (drawn.standard_normal((size, 16), dtype=np.float32) for size in (vectors, 20))
    out = left(tmp_path, SHARDED_INDEX, 8, "--vectors", str(vectors), "--queries", "20")
    found = [json.loads(line)["ids"] for line in (out / "rankings.jsonl").read_text().splitlines()]
    assert found == ((stored[None] - queries[:, None]) ** 2).sum(2).argsort(1)[:, :10].tolist()


def test_the_pipeline_counts_the_same_errors(tmp_path: Path) -> None:
    texts = {(left(tmp_path, PIPELINE, workers, "2") / "errors.txt").read_text() for workers in (1, 2)}
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) > 500
