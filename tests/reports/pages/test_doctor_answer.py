"""The answer of an examination: the noise floor, a line for each check, and how to examine again."""

from __future__ import annotations

from typing import Any

from fireassay.reports.pages.doctor import page
from tests.reports.pages.screens import EVIL, flat, harmless, parsed, screen

HEAD = "this machine is noisy (60 launches of fixed work, 2026-11-26T17:00:00+00:00)"


def found(name: str, fitness: str, evidence: str, mend: str = "") -> dict[str, Any]:
    return {"name": name, "fitness": fitness, "evidence": evidence, "mend": mend}


CHECKS = [
    found("clock", "fit", "21 ns steps"),
    found("noise floor", "noisy", "4.6 % in turn, 7.1 % one after the other", "end other programs"),
    found("other programs", "noisy", "27 % of the CPUs; FIT allows 10 %", "end other programs"),
    found("frequency", "unknown", "governor not visible"),
]


def test_the_first_line_is_the_noise_floor_and_every_check_has_its_mark() -> None:
    shown = page("this machine", HEAD, "noisy", CHECKS)
    lines = screen(shown)
    assert lines[0] == "NOISY  this machine: noise floor 4.6 % in turn, 7.1 % one after the other"
    assert [line[:2] for line in lines if line[2:].startswith(("clock", "noise", "other", "freq"))] == ["✓ ", "~ ", "~ ", "- "]
    assert parsed(shown) == [["assay", "doctor"]]
    assert "next end other programs; then examine again:" in flat(shown)


def test_the_tiles_are_the_other_checks_what_is_wrong_first() -> None:
    answer = page("this machine", HEAD, "noisy", CHECKS).answer
    assert answer is not None
    assert [(tile.title, tile.mark.word) for tile in answer.tiles] == [
        ("Other programs", "noisy"),
        ("Clock", "fit"),
        ("Frequency", "unknown"),
    ]


def test_without_a_noise_floor_the_check_that_decides_is_told_with_its_own_command() -> None:
    mend = "give it more time: assay doctor client --seconds 120"
    shown = page("this client", "this client is unfit", "unfit", [found("answers", "unfit", "3 of 9 differ", mend)], "assay doctor client")
    assert screen(shown)[0] == "UNFIT  this client: answers 3 of 9 differ"
    assert parsed(shown) == [["assay", "doctor", "client", "--seconds", "120"]]


def test_a_fit_machine_needs_nothing_and_many_checks_fit_the_screen() -> None:
    many = [found(f"check {n}", "fit", "all right " * 30) for n in range(30)]
    shown = page("this machine", HEAD, "fit", [found("noise floor", "fit", "0.4 % in turn"), *many])
    assert screen(shown)[0] == "FIT  this machine: noise floor 0.4 % in turn"
    assert parsed(shown) == []


def test_nothing_examined_says_so_and_no_evidence_steers_the_terminal() -> None:
    assert screen(page("this machine", "the fitness of this machine is unknown", "unknown", []))[0].startswith("UNKNOWN  this machine: ")
    harmless(page(EVIL, EVIL, "noisy", [found(EVIL, "noisy", EVIL, EVIL)]))
