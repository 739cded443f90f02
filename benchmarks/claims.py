"""Do the audits of claims find what is wrong in a published number, and nothing else?

Precision and recall over the claims of `tests/verdict/corpus`, whose answers (`labels.toml`) were written before the audits.  A case is one
claim and one audit: a hit if the claim fell into it and should, a false alarm or a miss else.  A third of the claims, by a hash of the
name, is held out: their answers were looked at only when the audits were done.  Markdown on stdout; exit 1 if a promise is broken.

    python benchmarks/claims.py > claims.md
    python benchmarks/claims.py --errors tuned    every wrong answer, of the claims that are not held out

Cannot tell: whether the labels are right, and how claims of other shapes fare.
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.spec.claim import load_claim
from fireassay.verdict.claims.claim import audit_claim

CORPUS: Final = Path(__file__).resolve().parent.parent / "tests" / "verdict" / "corpus"
PRECISION, RECALL = 0.98, 0.95  # promised, over all claims
HELD_OUT: Final = 3  # one in so many
MAIN: Final = ("published", "sound", "made")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One claim: what it should be called, and what it was called."""

    name: str
    group: str
    held_out: bool
    status: str
    given_status: str
    pitfalls: frozenset[str]
    given: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Cases counted."""

    hits: int
    false_alarms: int
    misses: int

    @property
    def precision(self) -> float | None:
        """The share of alarms that are right; None without an alarm."""
        alarms = self.hits + self.false_alarms
        return self.hits / alarms if alarms else None

    @property
    def recall(self) -> float | None:
        """The share of faults that are found; None without a fault."""
        faults = self.hits + self.misses
        return self.hits / faults if faults else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", choices=("tuned", "held-out"), help="list every wrong answer of this part instead")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of claims with its labels.toml")
    arguments = parser.parse_args()
    answers = list(audited(arguments.corpus))
    if arguments.errors:
        print("\n".join(errors(a for a in answers if a.held_out is (arguments.errors == "held-out"))))
        return 0
    print("\n".join(page(answers)))
    problems = broken(answers)
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in problems or ["none"])]))
    return 1 if problems else 0


def audited(corpus: Path = CORPUS) -> Iterator[Answer]:
    """Every claim of a corpus with its answer."""
    labels = tomllib.loads((corpus / "labels.toml").read_text(encoding="utf-8"))
    for name, label in labels.items():
        found = audit_claim(load_claim(corpus / f"{name}.toml"))
        yield Answer(
            name=name,
            group=label["group"],
            held_out=is_held_out(name),
            status=label["status"],
            given_status=found.status,
            pitfalls=frozenset(label["pitfalls"]),
            given=frozenset(pitfall.name for pitfall in found.pitfalls if pitfall.state == "fallen into"),
        )


def is_held_out(name: str) -> bool:
    """By a hash of the name, so that nobody chose."""
    return int(hashlib.sha256(f"issue 12: {name}".encode()).hexdigest(), 16) % HELD_OUT == 0


def score(answers: Iterable[Answer], audit: str | None = None) -> Score:
    """Cases of all audits, or of one."""
    pairs = [(a.pitfalls, a.given) if audit is None else (a.pitfalls & {audit}, a.given & {audit}) for a in answers]
    return Score(
        hits=sum(len(said & given) for said, given in pairs),
        false_alarms=sum(len(given - said) for said, given in pairs),
        misses=sum(len(said - given) for said, given in pairs),
    )


def verdicts(answers: Iterable[Answer]) -> Score:
    """The same of the verdict alone: is an unsound claim called unsound, and no other?"""
    return score(
        Answer(
            name=a.name,
            group=a.group,
            held_out=a.held_out,
            status="",
            given_status="",
            pitfalls=frozenset({"unsound"} & {a.status}),
            given=frozenset({"unsound"} & {a.given_status}),
        )
        for a in answers
    )


def broken(answers: list[Answer]) -> list[str]:
    """The promises that do not hold, over all claims."""
    whole, sound = score(answers), [a for a in answers if a.status == "sound"]
    called = sum(a.given_status == "sound" for a in sound)
    return [
        line
        for line, kept in (
            (f"precision {shown(whole.precision)}, promised {PRECISION}", (whole.precision or 0.0) >= PRECISION),
            (f"recall {shown(whole.recall)}, promised {RECALL}", (whole.recall or 0.0) >= RECALL),
            (f"{called} of {len(sound)} sound claims are called sound", called >= PRECISION * len(sound)),
        )
        if not kept
    ]


def page(answers: list[Answer]) -> Iterator[str]:
    """The results as Markdown."""
    parts = {
        "all claims": answers,
        "the corpus (published, sound, made)": [a for a in answers if a.group in MAIN],
        **{f"of it {group}" if group in MAIN else group: [a for a in answers if a.group == group] for group in (*MAIN, "planted")},
        "held out": [a for a in answers if a.held_out],
        "not held out": [a for a in answers if not a.held_out],
    }
    yield from ("## Pitfalls found", "", *head("claims", "number"))
    yield from (row(name, str(len(part)), score(part)) for name, part in parts.items())
    yield from ("", "## Claims called unsound", "", *head("claims", "number"))
    yield from (row(name, str(len(part)), verdicts(part)) for name, part in parts.items())
    yield from ("", "## Statuses", "", "| should be | claims | called so |", "|---|---|---|")
    for status in ("sound", "unsound", "cannot be judged"):
        own = [a for a in answers if a.status == status]
        yield f"| {status} | {len(own)} | {sum(a.given_status == status for a in own)} |"
    yield from ("", "## By audit", "", *head("audit", "faults"))
    for audit in sorted(frozenset().union(*(a.pitfalls | a.given for a in answers))):
        yield row(audit, str(sum(audit in a.pitfalls for a in answers)), score(answers, audit))


def head(first: str, second: str) -> tuple[str, str]:
    return (f"| {first} | {second} | hits | false alarms | misses | precision | recall |", "|---|---|---|---|---|---|---|")


def row(name: str, second: str, own: Score) -> str:
    counts = f"{own.hits} | {own.false_alarms} | {own.misses}"
    return f"| {name} | {second} | {counts} | {shown(own.precision)} | {shown(own.recall)} |"


def shown(share: float | None) -> str:
    return "none" if share is None else f"{share:.3f}"


def errors(answers: Iterable[Answer]) -> Iterator[str]:
    """One line per wrong answer."""
    for a in answers:
        wrong = [f"+{name}" for name in sorted(a.given - a.pitfalls)] + [f"-{name}" for name in sorted(a.pitfalls - a.given)]
        if wrong or a.status != a.given_status:
            yield f"{a.name}: {' '.join(wrong)} [{a.status} -> {a.given_status}]"


if __name__ == "__main__":
    raise SystemExit(main())
