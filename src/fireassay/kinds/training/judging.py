"""What is the verdict on a training?

INVALID (an audit found the record inadmissible) > FAIL (distribution gave a wrong result, a fault was not survived, or the
required worker count is not admissible) > INCONCLUSIVE (nothing can be recommended on this evidence, or only the base while a
larger count is undecided) > NO_GAIN (the base is recommended, every other count is decided against) > PASS (a larger count is
recommended, the required one is admissible, or only one was measured).
"""

from __future__ import annotations

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.kinds.training.layers import layers
from fireassay.kinds.training.recommendation import recommend, standing
from fireassay.kinds.training.sentence import sentence
from fireassay.spec.plan import configuration_name
from fireassay.verdict.headline import in_words, recommended
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import Evidence, Judging, admissible, dimensions, forced
from fireassay.verdict.types import Recommendation, Status


def status(evidence: Evidence, recommendations: tuple[Recommendation, ...]) -> Status:
    """One status for the record."""
    data, findings, gates = evidence.data, evidence.findings, evidence.gates
    if (already := forced(findings, gates)) is not None:
        return already
    required = data.experiment.gates.required_workers
    if required is not None:
        return standing(evidence, configuration_name(required))
    if (picked := recommendations[0].configuration) is not None:
        return _gain(evidence) if picked == data.base else "PASS"
    hopeless = all(admissible(name, findings, gates) == "FAIL" for name in data.configurations)
    return "FAIL" if hopeless else "INCONCLUSIVE"


def _gain(evidence: Evidence) -> Status:
    """The status of a record whose base is recommended."""
    others = {standing(evidence, name) for name in evidence.data.configurations if name != evidence.data.base}
    return "PASS" if not others else "NO_GAIN" if others == {"FAIL"} else "INCONCLUSIVE"


JUDGING = Judging(dimensions=dimensions, recommend=recommend, status=status, sentence=sentence, layers=layers)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "3.58 [3.50, 3.66] times at 4", "keep 1 worker"; undecided: the speedup of the largest worker count."""
    workers = dict(zip(measured.configurations, measured.levels, strict=True))
    pick = None if judgement.verdict.status == "INCONCLUSIVE" else recommended(judgement)
    if pick == measured.base and len(workers) > 1:
        return f"keep {count(workers[pick], 'workers')}"
    speedups = judgement.results.get("speedup", {})
    known = [name for name in workers if name != measured.base and isinstance(speedups.get(name), Estimate)]
    name = pick if pick in known else known[-1] if known else ""
    return f"{in_words(speedups[name], 'times')} at {workers[name]}" if name else ""
