"""Two records of evaluations are paired item by item, and say what one record of both would say."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fireassay.cli import main
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import judge
from tests.tiers import some

ITEMS = 300
RIGHT = ["yes" if index % 3 else "no" for index in range(ITEMS)]
WRONG = {"yes": "no", "no": "yes"}


def missing(*indices: int) -> list[str]:
    """The right answers, but for every seventh and these."""
    return [WRONG[right] if index % 7 == 0 or index in indices else right for index, right in enumerate(RIGHT)]


BEFORE = missing()
SIDES = {"same": BEFORE, "worse": missing(*range(1, ITEMS, 5)), "one": missing(1)}


Record = Callable[..., Path]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Makes a record; of equal sides there is one record for all tests, which only read it."""
    made: dict[str, Path] = {}

    def make(name: str, sides: dict[str, list[str]], **how: Any) -> Path:
        key = json.dumps([name, sides, how])
        if key not in made:
            made[key] = _record(tmp_path_factory.mktemp("between") / name, sides, **how)
        return made[key]

    return make


def _record(
    folder: Path, sides: dict[str, list[str]], *, margin: float | None = None, metric: str = "exact_match", **limits: float
) -> Path:
    """A record of these answers."""
    folder.mkdir()
    for name, answers in sides.items():
        rows = [{"id": index, "answer": answer, "reference": RIGHT[index]} for index, answer in enumerate(answers)]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data: dict[str, Any] = {
        "name": folder.name,
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {"answers": [{"name": name, "path": f"{name}.jsonl"} for name in sides], "metrics": [metric], "fields": {"id": "id"}},
    }
    if margin is not None:
        data["quality"] = {"metric": metric, "margin": margin, **limits}
    return run(from_mapping(data), folder=folder, root=folder / "records")


def compared(capsys: pytest.CaptureFixture[str], *words: Path | str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["compare", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("side", "margin", "metric", "code", "state"),
    some(
        [
            ("same", 0.05, "exact_match", 0, "HELD"),
            ("worse", 0.05, "exact_match", 1, "DEGRADED"),
            ("one", 0.001, "exact_match", 4, "INCONCLUSIVE"),
            ("worse", 0.02, "f1_macro", 1, "DEGRADED"),  # resampled
        ],
        2,
        rows=True,
    ),
)
def test_two_records_say_what_one_record_of_both_says(
    side: str, margin: float, metric: str, code: int, state: str, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    before = record("a", {"before": BEFORE}, metric=metric)
    after = record("b", {"after": SIDES[side]}, metric=metric)
    both = record("both", {"before": BEFORE, "after": SIDES[side]}, margin=margin, metric=metric)
    (gate,) = judge(from_record(open_record(both))).verdict.gates
    found, document = compared(capsys, before, after, "--margin", str(margin))
    assert (found, list(document["quality"].values())) == (code, [state])
    assert gate.sentence in document["sentence"]
    assert " worse and " in document["sentence"]
    inside = compared(capsys, both, "--at", "answers=before", "--at", "answers=after")
    assert inside[0] == code
    assert gate.sentence in inside[1]["sentence"]


def test_the_margin_of_the_records_counts_without_a_flag(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (record(name, {"x": SIDES[name]}, margin=0.05) for name in ("same", "worse"))
    assert compared(capsys, before, after)[0] == 1
    assert compared(capsys, before, after, "--margin", "0.25")[0] == 0  # its lead over nothing right, 0.86, holds 3 of them


def test_another_margin_refuses_and_the_flag_decides_for_all(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before = record("a", {"x": BEFORE}, margin=0.05)
    after = record("b", {"x": SIDES["one"]}, margin=0.2)
    code, document = compared(capsys, before, after)
    assert (code, [found["field"] for found in document["mismatches"] if found["refuses"]]) == (3, ["quality.margin"])
    assert compared(capsys, before, after, "--margin", "0.05")[0] == 0


def test_without_a_margin_the_change_is_told_and_the_way_on(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (record(name, {"x": SIDES[name]}) for name in ("same", "worse"))
    code, document = compared(capsys, before, after)
    assert (code, document["state"], list(document["quality"].values())) == (0, "compared", ["MEASURED"])
    assert "Exact match −1" in document["sentence"]
    assert " worse and 0 better of 300" in document["sentence"]
    assert "--margin" in document["sentence"]


@pytest.mark.parametrize("margin", some(["0", "-1", "inf", "nan"], 2))
def test_a_margin_is_above_0(margin: str, record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (record(name, {"x": SIDES[name]}) for name in ("same", "worse"))
    with pytest.raises(SystemExit, match="2"):
        main(["compare", str(before), str(after), "--margin", margin])
    assert "--margin" in capsys.readouterr().err


def test_a_cap_on_flips_counts_between_records_too(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """As many items won as lost of each seventh: the mean is held."""
    swapped = missing(*range(1, ITEMS, 7))
    swapped[::7] = RIGHT[::7]
    before = record("a", {"x": BEFORE}, margin=0.25, max_flip_rate=0.1)
    after = record("b", {"x": swapped}, margin=0.25, max_flip_rate=0.1)
    code, document = compared(capsys, before, after)
    assert (code, list(document["quality"].values())) == (1, ["DEGRADED"])
    assert "quality held" in document["sentence"]
    assert "score otherwise, one-sided bounds, at most 10 % may" in document["sentence"]
    other = record("c", {"x": swapped}, margin=0.25, max_flip_rate=0.5)
    code, document = compared(capsys, before, other)
    assert (code, [found["field"] for found in document["mismatches"] if found["refuses"]]) == (3, ["quality.max_flip_rate"])


def test_the_items_that_changed_are_named_with_both_answers(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = record("a", {"before": BEFORE}), record("b", {"after": missing(1, 2)})
    _, document = compared(capsys, before, after, "--margin", "0.05")
    assert [(flip["item"], flip["score_before"], flip["score_after"], flip["better"]) for flip in document["flips"]] == [
        ("1", 1.0, 0.0, False),
        ("2", 1.0, 0.0, False),
    ]
    first = document["flips"][0]
    assert (first["before"], first["after"], first["reference"], first["side"]) == ("yes", "no", "yes", document["sides"][1])
    for flags in ((), ("--full",), ("--markdown", "--full"), ("--html", "--output", "-")):
        capsys.readouterr()
        main(["compare", str(before), str(after), "--margin", "0.05", *flags])
        shown = capsys.readouterr().out
        assert "1 to 0" in shown, flags
    assert "2 items changed" in shown


def test_every_side_has_its_share_of_the_items_shown(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    sides = {"before": BEFORE, "some": missing(1, 2, 3, 4), "other": missing(5, 6)}
    both = record("all", sides, margin=0.05)
    _, document = compared(capsys, both, *(word for name in sides for word in ("--at", f"answers={name}")))
    assert [(flip["side"], flip["item"]) for flip in document["flips"]][:4] == [
        ("answers=some", "1"),
        ("answers=other", "5"),
        ("answers=some", "2"),
        ("answers=other", "6"),
    ]


def test_without_a_change_there_is_no_such_section(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = record("a", {"before": BEFORE}), record("b", {"after": BEFORE})
    assert compared(capsys, before, after, "--margin", "0.05")[1]["flips"] == []
    main(["compare", str(before), str(after), "--margin", "0.05", "--full"])
    assert "Items that changed" not in capsys.readouterr().out


def test_several_sides_are_told_with_their_scores_and_items(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [record(name, {name: answers}) for name, answers in (("before", BEFORE), ("some", missing(1)), ("other", missing(5)))]
    for flags in ((), ("--full",), ("--html", "--output", "-")):
        capsys.readouterr()
        assert main(["compare", *map(str, paths), "--margin", "0.05", *flags]) == 0
        shown = capsys.readouterr().out
        assert "1 to 0" in shown
    assert "Exact match" in shown


def test_records_that_share_their_reference_alone_are_asked_for_the_sides(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference is held against itself, whatever the candidates lost."""
    paths = [record(name, {"before": BEFORE, name: SIDES[name]}, margin=0.05) for name in ("same", "worse")]
    assert main(["compare", *map(str, paths)]) == 2
    assert "Name one of each record: --at answers=same --at answers=worse." in " ".join(capsys.readouterr().err.split())
    assert compared(capsys, *paths, "--at", "answers=same", "--at", "answers=worse")[0] == 1
    assert compared(capsys, *paths, "--at", "answers=before")[0] == 0


@pytest.mark.parametrize("form", ["--json", "--full"])
def test_answers_that_exist_have_no_sessions_and_no_noise_floor(form: str, record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = record("a", {"before": BEFORE}), record("b", {"after": missing(1, 2)})
    capsys.readouterr()
    main(["compare", str(before), str(after), "--margin", "0.05", form])
    shown = capsys.readouterr().out
    assert "interleaved" not in shown
    assert "assay doctor" not in shown
    assert "day" not in shown


def test_the_headline_names_the_sides_once(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = record("a", {"before": BEFORE}), record("b", {"after": missing(1, 2)})
    main(["compare", str(before), str(after), "--margin", "0.05"])
    assert "b answers=after over a answers=before: quality held: Exact match" in " ".join(capsys.readouterr().out.split())


def test_a_heading_keeps_the_names_of_the_records(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [record(name, {name: answers}) for name, answers in (("before", BEFORE), ("some", missing(1)), ("other", missing(5)))]
    main(["compare", *map(str, paths), "--margin", "0.05", "--html", "--output", "-"])
    assert "Some answers=some" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["score", "compare"])
def test_a_margin_may_be_in_per_cent(verb: str, record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One point of 300 items is undecided whichever way the margin is written; what is neither names both ways."""
    paths = [record(name, {"x": SIDES[name]}) for name in ("same", "one")]
    files = [f"{name}={path.parents[1] / 'x.jsonl'}" for name, path in zip(("same", "one"), paths, strict=True)]
    words = [str(path) for path in paths] if verb == "compare" else files
    root = ["--id", "id", "--root", str(tmp_path / "again")] if verb == "score" else []
    told = []
    for margin in ("1%", "0.01"):
        capsys.readouterr()
        assert main([verb, *words, "--margin", margin, *root, "--json"]) == 4
        told.append("margin 1 point;" in capsys.readouterr().out)
    assert told == [True, True]
    with suppress(SystemExit):
        assert main([verb, *words, "--margin", "x%", *root]) == 2
    assert "0.02 or 2%" in " ".join(capsys.readouterr().err.split())
