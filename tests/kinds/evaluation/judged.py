"""Records that a loopback judge with planted faults judged, made through the runner."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment import run as running
from fireassay.spec.load import from_mapping
from tests.answered import machine
from tests.oracle import oracle

SHOWN = re.compile(r"<(?:first_|second_)?answer-\w+>\n(.*?)\n</", re.DOTALL)
WORTH = re.compile(r"worth (\d+)")
Says = Callable[[Sequence[str], str], str | int]  # (the answers as shown, the whole request) -> reply, or a status


def chance(text: str) -> float:
    """A number from 0 to 1 that looks drawn, the same for the same text."""
    return int(sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def worth(text: str) -> int:
    """What an answer is truly worth: it says so."""
    found = WORTH.search(text)
    return int(found[1]) if found else 0


def by_worth(*, wrong: float = 0.0, first: float = 0.0, longer: float = 0.0) -> Says:
    """A judge of pairs that errs in a share of requests, and in others says that the first, or the longer, is better."""

    def says(answers: Sequence[str], request: str) -> str:
        drawn, (a, b) = chance(request), answers
        if drawn < wrong:
            choice = ("first", "tie", "second")[int(3 * chance(f"{request}!"))]
        elif drawn < wrong + first:
            choice = "first"
        elif drawn < wrong + first + longer and len(a) != len(b):
            choice = "first" if len(a) > len(b) else "second"
        else:
            choice = "tie" if worth(a) == worth(b) else "first" if worth(a) > worth(b) else "second"
        return json.dumps({"reason": "", "choice": choice})

    return says


def rating(*, wrong: float = 0.0) -> Says:
    """A judge of a scale that errs in a share of requests."""

    def says(answers: Sequence[str], request: str) -> str:
        found = worth(answers[0]) if chance(request) >= wrong else 1 + int(5 * chance(f"{request}!"))
        return json.dumps({"reason": "", "rating": found})

    return says


def answers(path: Path, worths: Sequence[int], side: str, **more: Sequence[str]) -> None:
    """A file of answers that say what they are worth; of other lengths."""
    rows = [
        {
            "id": f"q{index}",
            "prompt": f"Question {index}?",
            "answer": f"{side} {index} is worth {one}{' x' * int(60 * chance(f'{side}{index}'))}",
        }
        | {name: values[index] for name, values in more.items()}
        for index, one in enumerate(worths)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def gold(path: Path, sides: Mapping[str, Sequence[int]], items: Sequence[int], form: str) -> None:
    """Labels of people, who see what each answer is worth."""
    (a, ours), (b, theirs) = list(sides.items())[:2]
    if form == "pairs":
        said = {True: "tie", False: ""}
        lines = [f"q{at},{a},{b},{said[ours[at] == theirs[at]] or (a if ours[at] > theirs[at] else b)}" for at in items]
        path.write_text("\n".join(["item,first,second,choice", *lines]) + "\n")
    else:
        lines = [f"q{at},{name},{values[at]}" for at in items for name, values in sides.items()]
        path.write_text("\n".join(["item,side,rating", *lines]) + "\n")


def record(
    folder: Path,
    sides: Mapping[str, Sequence[int]],
    says: Says,
    form: str = "pairs",
    *,
    labels: Sequence[int] = (),
    margin: float | None = None,
    more: Mapping[str, Sequence[str]] | None = None,
    **judge: Any,
) -> RecordData:
    """The record of answers of each side that the judge judged, with labels of people for some items."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rubric.toml").write_text(f'form = "{form}"\ncriteria = "Which is worth more?"\n')
    for name, worths in sides.items():
        answers(folder / f"{name}.jsonl", worths, name, **(more or {}))
    if labels:
        gold(folder / "gold.csv", sides, labels, form)
    with oracle(lambda request: says(SHOWN.findall(request), request)) as server:
        data: dict[str, Any] = {
            "name": "judged",
            "workload": {"runner": "answers", "work": "items"},
            "launches": {"per_configuration": 1},
            "noise": {"sentinel_s": 0.0},
            "evaluation": {
                "answers": [{"name": name, "path": f"{name}.jsonl"} for name in sides],
                "fields": {"id": "id", **({"cluster": "cluster"} if more and "cluster" in more else {})},
                "judge": {
                    "url": server.url,
                    "model": "judge-1",
                    "rubric": "rubric.toml",
                    "retries": 0,
                    **({"gold": "gold.csv"} if labels else {}),
                    **judge,
                },
            },
        }
        if margin is not None:
            data["quality"] = {"metric": "judged", "margin": margin}
        with patch.object(running, "capture", lambda *_, **__: machine()):
            return from_record(open_record(running.run(from_mapping(data), folder=folder, root=folder / "records")))
