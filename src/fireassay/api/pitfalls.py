"""Which pitfalls does a record, or a published claim, fall into?"""

from __future__ import annotations

from pathlib import Path

from fireassay.frames.record_data import from_record
from fireassay.printable import one_line
from fireassay.record.lookup import resolve
from fireassay.record.reader import open_record
from fireassay.record.unjudged import judged_from
from fireassay.reports.pages import pitfalls
from fireassay.reports.pages.pitfalls import Sheet
from fireassay.spec.claim import load_claim
from fireassay.verdict.claims.claim import audit_claim, facts_needed, smallest_set
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record as pitfalls_of


def of_claim(path: Path) -> Sheet:
    """Those of the claim in a TOML file."""
    claim = load_claim(path)
    when = f", {claim.claim.as_of}" if claim.claim.as_of else ""
    return pitfalls.of_claim(claim.claim.text, f"{claim.claim.source}{when}", audit_claim(claim))


def of_record(name: str, root: Path) -> Sheet:
    """Those of a record."""
    path = resolve(name, root)
    with judged_from(path):
        measured = from_record(open_record(path))
        judgement = judge(measured)
        found = pitfalls_of(measured)
    verdict = judgement.verdict
    return Sheet(
        kind="record",
        subject=one_line(measured.experiment.name),
        source=one_line(path.name),
        status=verdict.status,
        sentence=verdict.sentence,
        pitfalls=found,
        quantities=smallest_set(facts_needed(verdict.findings)),
    )
