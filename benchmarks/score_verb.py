"""How long does `assay score` take, from its start to its sealed and judged record, beside the libraries alone?

Theirs: one process that reads the same file and takes sacrebleu's, rouge-score's and SQuAD's score of the corpus (as `text_scores.py`).
Ours: the whole command with BLEU, ROUGE-L and F1: the interpreter's start, reading, every item's scores, the record, 2,000 draws behind
BLEU's interval, the verdict and its page.  In turns, user and system time of each process with its children; Markdown on stdout.

    python benchmarks/score_verb.py [PAIRS] [ROUNDS]      (100,000 pairs, 3 rounds: about six minutes on an idle machine)

Promise: at most 1.3 times theirs.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from text_scores import LIMIT, counted, rouge_score, sacrebleu, squad_script, texts

OURS = ("-m", "fireassay", "score", "pairs.jsonl", "--reference", "gold", "--metric", "bleu,rouge_l,f1", "--quiet")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")


def main(pairs: int, rounds: int) -> int:
    """Print a table; 1 if the promise is broken."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "pairs.jsonl", pairs)
        commands = {"ours": OURS, "theirs": (__file__, "theirs", "pairs.jsonl")}
        for number in range(rounds):
            for side in ("ours", "theirs") if number % 2 else ("theirs", "ours"):
                found[side].append(processor_s(commands[side], folder))
    ratio = statistics.median(one / other for one, other in zip(found["ours"], found["theirs"], strict=True))
    print(f"{datetime.now(UTC):%Y-%m-%d}, {pairs} pairs, {rounds} rounds, Python {platform.python_version()}, {platform.machine()}\n")
    print("| `assay score`, s of processor time | the libraries | ratio, median of rounds |\n|---|---|---|")
    print(f"| {statistics.median(found['ours']):.1f} | {statistics.median(found['theirs']):.1f} | {ratio:.2f} |")
    return 0 if ratio <= LIMIT else 1


def write(path: Path, pairs: int) -> None:
    """The texts of `text_scores.py`, one pair a line."""
    answers, references = texts(random.Random(1), pairs)
    rows = ({"answer": answer, "gold": wanted[0]} for answer, wanted in zip(answers, references, strict=True))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def processor_s(arguments: tuple[str, ...], folder: str) -> float:
    """User and system time of a process and its children."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def theirs(path: Path) -> None:
    """Read the pairs and take one score of each library."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    answers, references = [row["answer"] for row in rows], [[row["gold"]] for row in rows]
    print(sacrebleu(answers, references), rouge_score(answers, references), squad_script(answers, references))


if __name__ == "__main__":
    if sys.argv[1:2] == ["theirs"]:
        theirs(Path(sys.argv[2]))
    else:
        sys.exit(main(counted(1, 100_000), counted(2, 3)))
