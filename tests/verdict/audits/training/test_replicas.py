"""Are the replicas of a training equal, in parameters, state and mode, and how was the model divided?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay import catalog
from fireassay.api.interim_analysis import why_futile
from fireassay.spec.experiment import Scaling
from fireassay.spec.sections.workload import Workload
from fireassay.verdict.audits.training import replicas as audited
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.parallel_made import hashed, told
from tests.verdict.making import add_hashes, change, good, judged, rules_of, wrong

rules = rules_of(audited.AUDITS)

# ---- replicas ----
# replicas: where parameter hashes first differ names the fault.

TEXT = 6  # column of fingerprints


def apart(from_step: int, *, launches: tuple[int, ...] | None = None) -> Handmade:
    """Rank 1 has hashes of its own from a step on."""
    made = good()

    def other(row: tuple[object, ...]) -> object:
        differs = row[1] == 1 and row[4] == "parameter_hash" and int(str(row[3])) >= from_step
        return f"rank-1-{row[3]}" if differs and (launches is None or row[0] in launches) else row[TEXT]

    change(made, "fingerprints", TEXT, other, workers=2)
    return made


@pytest.mark.slow
def test_other_parameters_before_the_first_step_are_a_seed_mismatch_and_nothing_else() -> None:
    judgement = judged(apart(0))
    assert rules(judgement) == {"replica_seed_mismatch": ["workers=2"]}
    assert judgement.verdict.status == "FAIL"
    assert "(launch 1); replicas differ in 5 launches" in judgement.verdict.findings[0].evidence


@pytest.mark.slow
@pytest.mark.parametrize(("step", "words"), [(1, "1 step"), (2, "2 steps"), (8, "8 steps")])
def test_equal_at_first_and_different_later_means_gradients_were_not_synchronised(step: int, words: str) -> None:
    judgement = judged(apart(step))
    assert rules(judgement) == {"gradients_not_synchronised": ["workers=2"]}
    assert f"differ after {words} " in judgement.verdict.findings[0].evidence
    assert judgement.verdict.status == "FAIL"


@pytest.mark.slow
def test_one_launch_of_five_is_enough() -> None:
    judgement = judged(apart(4, launches=(7,)))
    assert rules(judgement) == {"gradients_not_synchronised": ["workers=2"]}
    assert judgement.verdict.findings[0].evidence.endswith("(launch 7)")


@pytest.mark.slow
def test_a_configuration_with_replicas_apart_is_recommended_for_nothing() -> None:
    judgement = judged(apart(0))
    assert {pick.configuration for pick in judgement.verdict.recommendations} <= {None, "workers=1"}


@pytest.mark.slow
def test_hashes_of_one_rank_only_are_not_a_comparison() -> None:
    made = good()
    made.rows["fingerprints"] = [row for row in made.rows["fingerprints"] if row[4] != "parameter_hash" or row[1] == 0]
    judgement = judged(made)
    assert wrong(judgement) == []
    assert "replicas not checked" in judgement.verdict.dimensions["workers=2"]["correctness"].sentence


@pytest.mark.slow
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


@pytest.mark.slow
def test_replicas_that_go_on_from_different_states_after_a_restart_are_named_so() -> None:
    judgement = judged(restarted(together=False))
    assert rules(judgement) == {"replicas_differ_after_restart": ["workers=2"]}
    assert "differ after the restart, at step 8 (launch 10, 1 launch in all)" in judgement.verdict.findings[0].evidence


@pytest.mark.slow
def test_a_restart_may_give_other_parameters_as_long_as_all_ranks_have_them() -> None:
    assert rules(judged(restarted(together=True))) == {}


# ---- training state ----
# training_state: random states as declared, optimizer states as the parameters, buffers alike before the first step.

TRAINING_STATE = catalog.load("verdict.audits", "training_state")


def training_state_hashed(what: str, texts: dict[int, tuple[str, str]], *, layers: int = 0, declared: str = "") -> dict[str, str]:
    """Step -> the hashes of two ranks."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.fingerprint(number, "random_layers", layers, rank=rank)
        if declared:
            made.fingerprint(number, "random_state", declared, rank=rank)
        for step, both in texts.items():
            made.fingerprint(number, "parameter_hash", f"p{step}", rank=rank, step=step)
            made.fingerprint(number, what, both[rank], rank=rank, step=step)
    return {finding.rule: finding.severity for finding in TRAINING_STATE.examine(made.measured(), {})}


EQUAL, TRAINING_STATE_APART = {0: ("a", "a"), 1: ("b", "b")}, {0: ("a", "c"), 1: ("b", "d")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "layers", "declared", "expected"),
    [
        (EQUAL, 1, "different", {"same_random_numbers": "fail"}),
        (EQUAL, 0, "different", {"same_random_numbers": "fail"}),  # augmentation draws too
        (EQUAL, 1, "", {"same_random_numbers": "warning"}),
        (EQUAL, 0, "", {}),
        (EQUAL, 1, "equal", {}),
        (TRAINING_STATE_APART, 1, "equal", {"random_numbers_differ": "fail"}),
        (TRAINING_STATE_APART, 1, "different", {}),
        (TRAINING_STATE_APART, 1, "", {}),
        ({0: ("a", "a"), 1: ("a", "a")}, 1, "", {}),  # nothing is drawn from this generator
    ],
)
def test_random_states_are_judged_by_what_is_declared(
    states: dict[int, tuple[str, str]], layers: int, declared: str, expected: dict[str, str]
) -> None:
    assert training_state_hashed("random_hash", states, layers=layers, declared=declared) == expected


@pytest.mark.slow
def test_the_hosts_generator_is_judged_where_states_are_declared_different() -> None:
    """Loaders draw the seeds of their helpers from it, whatever the model's device is."""
    assert training_state_hashed("random_hash_host", EQUAL, declared="different") == {"same_random_numbers": "fail"}
    assert training_state_hashed("random_hash_host", TRAINING_STATE_APART, declared="different") == {}
    assert training_state_hashed("random_hash_host", EQUAL, layers=1) == {}


@pytest.mark.slow
def test_an_optimizer_that_differs_while_parameters_agree_is_a_warning() -> None:
    assert training_state_hashed("optimizer_hash", {1: ("a", "b")}) == {"optimizer_states_differ": "warning"}
    assert training_state_hashed("optimizer_hash", {1: ("a", "a")}) == {}
    assert training_state_hashed("optimizer_shard_hash", {1: ("a", "b")}) == {}, "every rank has its own part"


@pytest.mark.slow
def test_buffers_may_differ_after_a_step_and_not_before() -> None:
    assert training_state_hashed("buffer_hash", {0: ("a", "b")}) == {"buffers_differ_at_start": "warning"}
    assert training_state_hashed("buffer_hash", {0: ("a", "a"), 1: ("b", "c")}) == {}


@pytest.mark.slow
def test_a_good_record_has_none() -> None:
    assert not rules(judged(good())).keys() & {"same_random_numbers", "optimizer_states_differ"}


def rates(
    one: dict[int, float], two: dict[int, float], *, mode: str = "strong", workers: int = 2, items: tuple[float, float] | None = None
) -> list[str]:
    """Finished steps -> the learning rate; `items` of all ranks in each step, with one worker and with several."""
    made = Handmade(levels=(1, workers), blocks=1, scaling=Scaling.model_validate({"mode": mode}))
    for level, schedule in ((1, one), (workers, two)):
        number = made.launch(workers=level)
        for rank in range(level):
            if items is not None:
                made.steps(number, rank=rank, seconds=[1.0] * 8, items=items[level > 1] / level)
            for step, rate in schedule.items():
                made.fingerprint(number, "learning_rate", rate, rank=rank, step=step)
    return [finding.evidence for finding in TRAINING_STATE.examine(made.measured(), {}) if finding.rule == "learning_rate_differs"]


@pytest.mark.slow
def test_a_learning_rate_that_is_not_one_workers_is_a_warning_where_the_batch_is_the_same() -> None:
    assert rates({1: 0.1, 2: 0.05}, {1: 0.1, 2: 0.05}) == []
    (scaled,) = rates({1: 0.1}, {1: 0.4}, workers=4)
    assert scaled.startswith(
        "the learning rate after 1 step of launch 1 is 0.4, where one worker's is 0.1: 4 times, which is workers, with"
    )
    (root,) = rates({1: 0.1, 2: 0.1}, {1: 0.1, 2: 0.1 * 2**0.5})
    assert "after 2 steps" in root
    assert "which is the root of workers" in root
    (other,) = rates({1: 0.1}, {1: 0.001})
    assert ": 0.01 times, with the same global batch" in other
    assert rates({1: 0.0}, {1: 0.0}) == []
    assert rates({1: 0.1, 2: 0.05, 4: 0.01}, {1: 0.1, 2: 0.06, 5: 0.01}) == [], "another number of steps has another schedule"
    assert len(rates({1: 0.0}, {1: 0.1})) == 1


@pytest.mark.slow
def test_a_larger_batch_may_have_another_learning_rate() -> None:
    assert rates({1: 0.1}, {1: 0.2}, mode="weak") == []


@pytest.mark.slow
def test_a_batch_that_was_declared_the_same_and_was_not_may_have_another_learning_rate() -> None:
    """A fixed batch on each rank and a rate that grows with the workers, called strong."""
    assert rates({1: 0.1}, {1: 0.2}, items=(8.0, 16.0)) == []
    assert len(rates({1: 0.1}, {1: 0.2}, items=(8.0, 8.0))) == 1


# ---- modes ----
# modes: ranks in different modes in the same step; a failure where a layer depends on the mode.

MODES = catalog.load("verdict.audits", "modes")


def modes_found(modes: list[dict[int, str]], *, layers: int = 1) -> list[tuple[str, str]]:
    """Of each rank: step -> mode."""
    made = Handmade(levels=(1, 4), blocks=1)
    number = made.launch(workers=4)
    for rank, own in enumerate(modes):
        made.fingerprint(number, "random_layers", layers, rank=rank)
        for step, mode in own.items():
            made.fingerprint(number, "mode", mode, rank=rank, step=step)
    return [(one.severity, one.evidence) for one in MODES.examine(made.measured(), {})]


def test_the_first_step_in_which_modes_differ_is_named_with_its_ranks() -> None:
    ((severity, evidence),) = modes_found([{1: "train", 2: "train"}] * 3 + [{1: "train", 2: "eval"}])
    assert severity == "fail"
    assert evidence == (
        "ranks train in different modes in step 2 of launch 0 (ranks 0, 1, 2: train; rank 3: eval); 1 layer draws random numbers"
    )


def test_a_mode_without_consequence_is_a_note() -> None:
    ((severity, _),) = modes_found([{1: "train"}] * 3 + [{1: "eval"}], layers=0)
    assert severity == "note"


def test_the_same_mode_on_all_ranks_is_nothing_and_so_is_a_step_that_not_all_reached() -> None:
    assert modes_found([{1: "train, but for 2"}] * 4) == []
    assert modes_found([{1: "eval"}] * 4) == []
    assert modes_found([{1: "train"}] * 3 + [{2: "eval"}]) == []


# ---- parallelism ----
# Nothing distributed is a fault by its own name; a parallelism that is not data parallelism is a note, and a wrong declaration a warning.

PARALLELISM = catalog.load("verdict.audits", "parallelism")
PARALLELISM_APART = {0: "ab", 1: "cd"}
SAME = {0: "aa", 1: "bb"}


def made(declared: str = "auto", *, levels: tuple[int, ...] = (1, 2), looks: dict[int, str] | None = None, **said: Any) -> Handmade:
    one = Handmade(levels=levels, blocks=1)
    workload = Workload.model_validate({"script": "train.py", "parallelism": declared})
    one.experiment = one.experiment.model_copy(update={"workload": workload})
    for workers in levels:
        number = one.launch(workers=workers)
        for rank in range(workers):
            one.steps(number, rank=rank, seconds=[1.0], items=4.0)
        if workers > 1:
            told(one, number, workers, **said)
            hashed(one, number, {step: letters * workers for step, letters in (looks or {}).items()}, workers=workers)
    return one


def parallelism_found(one: Handmade) -> list[tuple[str, str, str | None]]:
    return [(f.rule, f.severity, f.configuration) for f in PARALLELISM.examine(one.measured(), {})]


def test_workers_without_a_group_are_named_in_every_configuration() -> None:
    findings = parallelism_found(made(levels=(1, 2, 4), group=0, looks=SAME))
    assert findings == [("nothing_is_distributed", "fail", f"workers={n}") for n in (2, 4)]


def test_a_script_that_trains_is_not_advised_to_be_timed_as_a_command() -> None:
    (finding,) = PARALLELISM.examine(made(group=0, looks=SAME).measured(), {})
    assert "assay time" not in finding.remedy


@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ("{workers}", "assay time -- python work.py 1 --- python work.py 2"),
        ("7", "init_process_group"),
        ("7", "--parallelism none (workload.parallelism); if it trains nothing, time it: assay time -- python work.py 7"),
    ],
)
def test_copies_of_a_whole_job_are_named_with_the_command_that_measures_it(argument: str, remedy: str) -> None:
    """Even where no hook saw anything: whole runs of a plain script."""
    one = Handmade(levels=(1, 2), blocks=1)
    workload = Workload.model_validate({"script": "work.py", "arguments": [argument]})
    one.experiment = one.experiment.model_copy(update={"workload": workload})
    one.launch(workers=1)
    one.event(one.launch(workers=2), "same_output", 1.0, detail={"lines": 1})
    measured = one.measured()
    (finding,) = PARALLELISM.examine(measured, {})
    assert (finding.rule, finding.severity, finding.configuration) == ("nothing_is_distributed", "fail", "workers=2")
    assert "each of 2 copies printed the same line" in finding.evidence
    assert remedy in finding.remedy
    assert remedy in why_futile(measured)


def test_what_was_declared_is_said_beside_it() -> None:
    (finding,) = PARALLELISM.examine(made("data", group=0).measured(), {})
    assert finding.evidence.startswith("data parallelism is declared, but no process group was created")


def test_workers_that_were_declared_to_be_alone_are_a_note() -> None:
    assert parallelism_found(made("none", group=0)) == []


def test_ranks_that_were_declared_alone_and_synchronise_are_a_warning() -> None:
    assert parallelism_found(made("none", ddp=[2])) == [("parallelism_contradicted", "warning", "workers=2")]


@pytest.mark.parametrize("said", [{"ddp": [2]}, {"fsdp": 2}])
def test_what_everybody_does_is_not_worth_a_word(said: dict[str, Any]) -> None:
    assert parallelism_found(made(**said)) == []


def test_another_parallelism_is_said_once() -> None:
    one = made(levels=(1, 2, 4), stage=True)
    assert parallelism_found(one) == [("parallelism_recognised", "note", None)]
    assert next(iter(PARALLELISM.examine(one.measured(), {}))).evidence.startswith(
        "this is pipeline parallelism: stages of torch's pipeline"
    )


def test_what_is_not_known_is_said_with_what_is_therefore_not_judged() -> None:
    one = made(libraries=["horovod"], looks=PARALLELISM_APART)
    (finding,) = PARALLELISM.examine(one.measured(), {})
    assert (finding.rule, finding.severity) == ("parallelism_not_known", "note")
    assert "horovod may communicate" in finding.evidence


def test_a_record_that_does_not_say_is_not_examined() -> None:
    one = made(ddp=[2])
    one.rows["events"].clear()
    assert parallelism_found(one) == []
    assert PARALLELISM.blind is not None
    assert "does not say" in str(PARALLELISM.blind(one.measured(), {}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tensor", "pipeline", "mixed", "local_sgd"])
def test_no_other_parallelism_fails_on_what_only_data_parallelism_has(kind: str) -> None:
    """Replicas that differ from the start, and ranks that use the same samples."""
    one = good(leave_out=("hashes", "samples"))
    one.experiment = one.experiment.model_copy(update={"workload": Workload.model_validate({"script": "train.py", "parallelism": kind})})
    if kind in ("tensor", "pipeline"):  # all ranks work on the eight items of a step
        one.rows["steps"] = [(*row[:-2], 8.0, row[-1]) for row in one.rows["steps"]]
    for number, row in enumerate(one.rows["launches"]):
        hashed(one, number, {0: "ab", 1: "cd"}, workers=row[4])
        if kind != "local_sgd":
            for rank in range(row[4]):
                one.samples(number, list(range(32)), rank=rank)
    wrong = [f.rule for f in judge(one.measured()).verdict.findings if f.severity in ("fail", "invalid")]
    assert wrong == []


@pytest.mark.slow
def test_declared_data_parallelism_is_judged_as_such() -> None:
    one = good(leave_out=("hashes",))
    for number, row in enumerate(one.rows["launches"]):
        hashed(one, number, {0: "aa", 1: "bc"}, workers=row[4])
    assert "gradients_not_synchronised" in {f.rule for f in judge(one.measured()).verdict.findings}


# ---- same_model ----
# same_model: the names of what is trained, but for what wrappers add inside of the model.


@pytest.mark.parametrize(
    ("names", "faults"),
    [
        (["bottom.module.0.weight", "top._orig_mod.weight"], 0),
        (["module.bottom.0.weight", "module.top.weight"], 0),
        (["bottom.0.weight"], 1),
    ],
)
def test_parts_that_are_wrapped_are_the_same_model(names: list[str], faults: int) -> None:
    one = made("data", ddp=[2])
    for number, own in enumerate((["bottom.0.weight", "top.weight"], names)):
        one.fingerprint(number, "parameter_names", "\n".join(own))
    assert [f.rule for f in catalog.load("verdict.audits", "same_model").examine(one.measured(), {})] == ["another_model"] * faults


@pytest.mark.parametrize(("held", "faults"), [(["bottom.0.weight"], 0), (["bottom.0.weight", "top.weight"], 1)])
def test_what_no_optimizer_holds_on_one_worker_either_is_no_other_model(held: list[str], faults: int) -> None:
    """Without data parallelism a copy that is not frozen (timm's average) counts as trained; its names alone show no other model."""
    one = made("data", ddp=[2])
    for number, (own, optimized) in enumerate(((["bottom.0.weight", "top.weight"], held), (["bottom.0.weight"], ["bottom.0.weight"]))):
        one.fingerprint(number, "parameter_names", "\n".join(own))
        one.fingerprint(number, "optimizer_names", "\n".join(optimized))
    assert [f.rule for f in catalog.load("verdict.audits", "same_model").examine(one.measured(), {})] == ["another_model"] * faults
