"""stragglers: the finding names rank, phase, excess with its interval, and what to look at."""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.frames.training.rank_phases import BETWEEN, THROUGHOUT
from fireassay.verdict.audits.training.stragglers import AUDIT, REMEDY, WHERE
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.metrics.straggling import PHASES, Training, add, record

pytestmark = pytest.mark.slow


def found(made: Handmade) -> list[Finding]:
    return list(AUDIT.examine(made.measured(), {}))


def test_the_finding_says_who_where_and_by_how_much() -> None:
    (finding,) = found(record(Training(ranks=4, seed=3, late={(2, "backward"): 50.0}), launches=5))
    assert (finding.rule, finding.severity, finding.configuration) == ("straggler", "warning", "workers=4")
    assert finding.evidence.startswith("rank 2 takes 49.")  # milliseconds of the 50
    assert " ms [48." in finding.evidence
    assert "computing its gradients" in finding.evidence
    assert "(5 of 5 launches, launches 0, 1, 2, 3, 4)" in finding.evidence
    assert "processor or device" in finding.remedy


def test_a_single_launch_has_the_interval_of_its_steps() -> None:
    (finding,) = found(record(Training(ranks=2, seed=3, late={(1, "data"): 50.0})))
    assert "rank 1 takes 49.99 ms [" in finding.evidence
    assert "waiting for its batches" in finding.evidence
    assert "inf" not in finding.evidence


def test_slow_in_one_launch_of_five_is_a_note() -> None:
    made = Handmade(levels=(2,), blocks=5)
    for block in range(5):
        late = {(0, "optimizer"): 50.0} if block == 3 else {}
        add(made, made.launch(workers=2, block=block), Training(ranks=2, seed=block, late=late))
    (finding,) = found(made)
    assert finding.severity == "note"
    assert "1 of 5 launches, launch 3" in finding.evidence


def test_a_clean_record_is_clear_and_examined() -> None:
    made = record(Training(ranks=3, seed=5), launches=3)
    assert found(made) == []
    assert AUDIT.blind is not None
    assert AUDIT.blind(made.measured(), {}) is None


def test_what_cannot_be_examined_says_why() -> None:
    assert AUDIT.blind is not None
    unseen = record(Training(ranks=2), leave_out=("waits", "communication", "collectives"))
    assert "waited for communication" in str(AUDIT.blind(unseen.measured(), {}))
    assert "are needed" in str(AUDIT.blind(record(Training(ranks=2, steps=6)).measured(), {}))
    alone = Handmade(levels=(1,), blocks=1)
    alone.launch(workers=1)
    assert "one worker" in str(AUDIT.blind(alone.measured(), {}))
    empty = Handmade(levels=(2,), blocks=1)
    empty.launch(workers=2)
    assert "no timed launch" in str(AUDIT.blind(empty.measured(), {}))


def test_every_phase_has_its_words() -> None:
    assert set(WHERE) == set(REMEDY) == {*PHASES, BETWEEN, THROUGHOUT}
    assert "stragglers" in catalog.names("verdict.audits")
