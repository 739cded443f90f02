"""replicas: where parameter hashes first differ names the fault."""

from __future__ import annotations

import pytest

from tests.handmade import Handmade
from tests.verdict.making import add_hashes, change, good, judged, rules, wrong

pytestmark = pytest.mark.slow


TEXT = 6  # column of fingerprints


def apart(from_step: int, *, launches: tuple[int, ...] | None = None) -> Handmade:
    """Rank 1 has hashes of its own from a step on."""
    made = good()

    def other(row: tuple[object, ...]) -> object:
        differs = row[1] == 1 and row[4] == "parameter_hash" and int(str(row[3])) >= from_step
        return f"rank-1-{row[3]}" if differs and (launches is None or row[0] in launches) else row[TEXT]

    change(made, "fingerprints", TEXT, other, workers=2)
    return made


def test_other_parameters_before_the_first_step_are_a_seed_mismatch_and_nothing_else() -> None:
    judgement = judged(apart(0))
    assert rules(judgement) == {"replica_seed_mismatch": ["workers=2"]}
    assert judgement.verdict.status == "FAIL"
    assert "(launch 1); replicas differ in 5 launches" in judgement.verdict.findings[0].evidence


@pytest.mark.parametrize(("step", "words"), [(1, "1 step"), (2, "2 steps"), (8, "8 steps")])
def test_equal_at_first_and_different_later_means_gradients_were_not_synchronised(step: int, words: str) -> None:
    judgement = judged(apart(step))
    assert rules(judgement) == {"gradients_not_synchronised": ["workers=2"]}
    assert f"differ after {words} " in judgement.verdict.findings[0].evidence
    assert judgement.verdict.status == "FAIL"


def test_one_launch_of_five_is_enough() -> None:
    judgement = judged(apart(4, launches=(7,)))
    assert rules(judgement) == {"gradients_not_synchronised": ["workers=2"]}
    assert judgement.verdict.findings[0].evidence.endswith("(launch 7)")


def test_a_configuration_with_replicas_apart_is_recommended_for_nothing() -> None:
    judgement = judged(apart(0))
    assert {pick.configuration for pick in judgement.verdict.recommendations} <= {None, "workers=1"}


def test_hashes_of_one_rank_only_are_not_a_comparison() -> None:
    made = good()
    made.rows["fingerprints"] = [row for row in made.rows["fingerprints"] if row[4] != "parameter_hash" or row[1] == 0]
    judgement = judged(made)
    assert wrong(judgement) == []
    assert "replicas not checked" in judgement.verdict.dimensions["workers=2"]["correctness"].sentence


def test_launches_may_differ_from_one_another() -> None:
    """Other seeds give other parameters: only ranks of one launch are compared."""
    made = good()
    change(made, "fingerprints", TEXT, lambda row: f"{row[0]}-{row[3]}" if row[4] == "parameter_hash" else row[TEXT])
    assert rules(judged(made)) == {}


def restarted(*, together: bool) -> Handmade:
    """A fault launch: equal until step 4, killed, and again from there; rank 1 goes on from another state or not."""
    made = good()
    number = made.launch(workers=2, block=5, role="fault")
    add_hashes(made, number, 2)
    for rank in range(2):
        made.fingerprint(number, "parameter_hash", "again" if together or rank == 0 else "odd", rank=rank, step=8, incarnation=1)
    return made


def test_replicas_that_go_on_from_different_states_after_a_restart_are_named_so() -> None:
    judgement = judged(restarted(together=False))
    assert rules(judgement) == {"replicas_differ_after_restart": ["workers=2"]}
    assert "differ after the restart, at step 8 (launch 10, 1 launch in all)" in judgement.verdict.findings[0].evidence


def test_a_restart_may_give_other_parameters_as_long_as_all_ranks_have_them() -> None:
    assert rules(judged(restarted(together=True))) == {}
