"""Do the numbers that a harness reports follow from the items that it logs?

Its mean and its standard error of the mean are computed again from its own scores of the items, and must agree to 1e-9.  A difference means
that items are missing from the log, were logged twice, or that the harness computes something else than it says.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.imported import reported
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

REMEDY = "import the files of one run, complete and unchanged"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with a number that does not follow."""
    for configuration in measured.configurations:
        wrong = [row for row in reported(measured) if row.configuration == configuration and row.differs]
        if not wrong:
            continue
        first = wrong[0]
        ours = "no number" if first.ours is None else f"{first.ours:.10g}"
        more = f", and {count(len(wrong) - 1, 'more numbers')} differ" if len(wrong) > 1 else ""
        yield Finding(
            rule="reported_totals",
            severity="warning",
            configuration=configuration,
            evidence=f"{first.name} of {first.task} is reported as {first.theirs:.10g}, and its items make {ours}{more}",
            remedy=REMEDY,
        )


AUDIT = Audit(
    name="reported_totals",
    title="totals that do not follow from their items",
    question="Do the numbers that a harness reports follow from the items that it logs?",
    examine=examine,
    about=("evaluation",),
)
