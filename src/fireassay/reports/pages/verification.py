"""What does the page of a verified record show?

Its seal and origin if it is intact, else every problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.reports.page import Case, Facts, Mark, Page, Section, notes


@dataclass(frozen=True, kw_only=True)
class Verification:
    """A record checked against its seal and against an expected seal and signers."""

    record: str
    problems: tuple[str, ...] = ()
    seal: str | None = None  # None: not examined, because of a problem
    expected: bool | None = None  # whether the seal is the expected one; None: none was given
    signed: bool | None = None
    signer: str | None = None  # None: not checked

    @property
    def intact(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems


def page(result: Verification) -> Page:
    """The page of a verification."""
    problems = tuple(one_line(problem) for problem in result.problems)
    word = count(len(problems), "problems") if problems else "intact"
    content = notes(problems) if problems else Facts(rows=tuple(_facts(result)))
    failures = tuple(Case(name=text.split(":")[0], group="verify", outcome="failure", kind="damaged", text=text) for text in problems)
    return Page(
        title=one_line(result.record),
        mark=Mark(word=word, tone="bad" if problems else "good"),
        sections=(Section(key="verification", title="Problems" if problems else "Identity", content=(content,)),),
        properties={"verb": "verify"},
        cases=failures or (Case(name=one_line(result.record), group="verify", outcome="passed", kind="intact", text=result.seal or ""),),
    )


def _facts(result: Verification) -> Iterator[tuple[str, str]]:
    yield "seal", result.seal or ""
    if result.expected:
        yield "expected", "yes, this is the expected record"
    if result.signer:
        yield "signature", f"signed by {one_line(result.signer)}"
    elif result.signed:
        yield "signature", "signed; --signers FILE checks by whom"
