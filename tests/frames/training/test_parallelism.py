"""Which parallelism is recognised, by what evidence; every rule of the table in `fireassay.frames.training.parallelism`, and who is not
mistaken for it.
"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import Parallelism, absent, parallelism, why_not
from tests.handmade import Handmade
from tests.parallel_made import NOTHING, call, calls, forward, hashed, told

STEPS = 8
EVERY = list(range(STEPS))
PARTING = {0: "aa", 1: "bc", 2: "de", 4: "fg", 8: "hi"}
APART = {0: "ab", 1: "bc", 2: "de", 4: "fg", 8: "hi"}
TOGETHER = {0: "aa", 1: "bb", 2: "cc", 4: "dd", 8: "ee"}


class Made:
    """Two workers, eight steps of four items each, and what else is said."""

    def __init__(self, *, items: float = 4.0, declared: str = "auto", **said: Any) -> None:
        self.made = Handmade(levels=(1, 2), blocks=1)
        workload = self.made.experiment.workload.model_copy(update={"parallelism": declared})
        self.made.experiment = self.made.experiment.model_copy(update={"workload": workload})
        alone = self.made.launch(workers=1)
        self.made.steps(alone, seconds=[1.0] * STEPS, items=4.0)
        self.number = self.made.launch(workers=2)
        for rank in range(2):
            self.made.steps(self.number, rank=rank, seconds=[1.0] * STEPS, items=items)
        told(self.made, self.number, **said)

    def samples(self, *of_rank: list[int]) -> Made:
        for rank, ids in enumerate(of_rank):
            for step in EVERY:
                self.made.samples(self.number, ids, rank=rank, step=step)
        return self

    def hashed(self, looks: dict[int, str]) -> Made:
        hashed(self.made, self.number, looks)
        return self

    def calls(self, steps: list[int], **words: Any) -> Made:
        calls(self.made, self.number, steps, **words)
        return self

    def forward(self, steps: list[int]) -> Made:
        forward(self.made, self.number, steps)
        return self

    def measured(self) -> RecordData:
        return self.made.measured()

    def found(self) -> Parallelism:
        return parallelism(self.measured(), "workers=2")


def other_samples(**said: Any) -> Made:
    return Made(**said).samples([0, 1], [2, 3])


CASES: dict[str, tuple[Made, str | None]] = {
    "wrapped": (Made(ddp=[2]), "data"),
    "wrapped, and its replicas part": (other_samples(ddp=[2]).hashed(PARTING).calls(EVERY), "data"),
    "wrapped by half of the ranks": (Made(ddp=[2], group=2, fsdp=0).calls(EVERY), "data"),
    "wrapped, with experts of each rank": (Made(ddp=[2], ddp_ignored=3), "mixed"),
    "wrapped in parts, with embeddings of each rank": (
        Made(ddp=[2, 2]).samples([0, 1], [0, 1]).hashed({0: "aa", 1: "bb", 8: "cc"}).calls([1]).calls(EVERY, op="all_to_all", nbytes=20),
        "mixed",
    ),
    "wrapped, and gradients seen in one step alone": (other_samples(ddp=[2]).hashed({0: "aa", 1: "bb", 8: "cc"}).calls([3]), "data"),
    "wrapped, with torch's local SGD": (Made(ddp=[2], ddp_hooks=["post_localSGD_hook"]), "local_sgd"),
    "wrapped, averaged at intervals": (Made(ddp=[2]).hashed({0: "aa", 2: "bc", 4: "dd", 8: "ee"}).calls([3, 7]), "local_sgd"),
    "wrapped, synchronised now and then": (Made(ddp=[2]).hashed({0: "aa", 2: "bc", 4: "de", 8: "fg"}).calls([3, 7]), "data"),
    "FSDP": (Made(fsdp=2, dtensor=2), "sharded"),
    "FSDP1": (Made(fsdp=2), "sharded"),
    "FSDP of one rank beside tensor parallelism": (Made(fsdp=1, dtensor=2), "mixed"),
    "DTensor": (Made(dtensor=2), "tensor"),
    "DTensor with replicas": (Made(dtensor=1, ddp=[2]), "mixed"),
    "layers of Megatron": (Made(layers=["ColumnParallelLinear"]).hashed(APART), "tensor"),
    "layers of Megatron that nobody splits": (Made(layers=["ColumnParallelLinear"], ddp=[2]).hashed(TOGETHER), "data"),
    "torch's pipeline": (Made(stage=True), "pipeline"),
    "torch's pipeline with replicas": (Made(stage=True, ddp=[2]), "mixed"),
    "no group": (Made(group=0).hashed(TOGETHER), "none"),
    "a group of each its own": (Made(group=1).hashed(PARTING), "none"),
    "no group, and a library that needs none": (Made(group=0, libraries=["horovod"]).hashed(PARTING), None),
    "the library, and replicas that stay equal": (other_samples(group=0, libraries=["horovod"]).hashed(TOGETHER), "data"),
    "gradients by hand": (other_samples().hashed(PARTING).calls(EVERY), "data"),
    "gradients in halves": (other_samples().hashed(PARTING).calls(EVERY, nbytes=50), "data"),
    "gradients by hand, other seeds": (other_samples().hashed(APART).calls(EVERY), "data"),
    "gathered gradients": (other_samples().hashed(PARTING).calls(EVERY, op="all_gather", nbytes=200), "data"),
    "a ring by hand": (other_samples().hashed(TOGETHER).calls(EVERY, op="send"), "data"),
    "forgotten": (other_samples().hashed(PARTING), "data"),
    "forgotten, the loss for the log": (other_samples().hashed(PARTING).calls(EVERY, nbytes=4), "data"),
    "forgotten, predictions gathered after each epoch": (
        other_samples().hashed(PARTING).calls([3, 7], op="all_gather", nbytes=500),
        "data",
    ),
    "forgotten, batch norm of all ranks": (other_samples().hashed(PARTING).calls(EVERY, nbytes=8).forward(EVERY), "data"),
    "forgotten, by its sampler alone": (Made(sharing=2).hashed(PARTING), "data"),
    "the same on every rank": (Made().samples([0, 1], [0, 1]).hashed(TOGETHER).calls(EVERY, nbytes=4), "none"),
    "an ensemble": (other_samples().hashed(APART), "none"),
    "layers cut by hand": (Made().samples([0, 1], [0, 1]).hashed(APART).calls(EVERY, nbytes=60).forward(EVERY), "tensor"),
    "other seeds, batch norm of all ranks": (other_samples().hashed(APART).calls(EVERY).forward(EVERY), "data"),
    "stages by hand": (Made().hashed(APART).calls(EVERY, op="send").calls(EVERY, op="recv"), "pipeline"),
    "stages by hand in batches": (Made(p2p_steps=STEPS).hashed(APART), "pipeline"),
    "stages with replicas": (Made().hashed(APART).calls(EVERY, op="send").calls(EVERY), "mixed"),
    "gossip": (other_samples().hashed(PARTING).calls(EVERY, op="send"), None),
    "averaged every fourth step": (other_samples().hashed({0: "aa", 1: "bc", 4: "dd", 8: "ee"}).calls([3, 7]), "local_sgd"),
    "averaged when nobody looked": (other_samples().hashed(PARTING).calls([2, 5]), "local_sgd"),
    "averaged by gathering": (other_samples().hashed(PARTING).calls([2, 5], op="all_gather", nbytes=200), "local_sgd"),
    "gradients every fourth step": (other_samples().hashed(PARTING).calls([3, 7]), None),
    "averaged between the steps": (other_samples().hashed({0: "aa", 1: "bc", 4: "dd", 8: "ee"}), None),
    "calls that nobody sees": (other_samples(engine=[[0, 0], [8, 80]]).hashed(PARTING), None),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_recognised(name: str) -> None:
    made, kind = CASES[name]
    found = made.found()
    assert (found.kind, found.by) == (kind, "recognised")
    assert found.evidence
    assert found.alone == (kind == "none")


@pytest.mark.parametrize(("training", "kind"), [(1, None), (2, "none")])
def test_ranks_that_train_nothing_are_not_said_to_train_alone(training: int, kind: str | None) -> None:
    """Where no module was seen, their steps tell that they train: layers whose `forward` is called directly (forward-forward networks)."""
    made = Made(group=0)
    for place, row in enumerate(made.made.rows["events"]):
        made.made.rows["events"][place] = (*row[:-1], '{"group": 0, "engine": [], "p2p_steps": 0, "libraries": []}')
    made.made.rows["steps"] = [row for row in made.made.rows["steps"] if row[1] < training]
    assert (made.found().kind, made.found().alone) == (kind, kind == "none")


def test_one_worker_has_none_to_recognise() -> None:
    assert parallelism(Made(group=0).measured(), "workers=1").by == "one worker"
    assert why_not(Made(group=0).measured(), "workers=1", "replicas") == ""


def test_a_record_without_evidence_is_judged_as_data_parallel() -> None:
    made = Made()
    made.made.rows["events"].clear()
    assert (made.found().kind, made.found().by) == ("data", "assumed")
    declared = Made(declared="tensor")
    declared.made.rows["events"].clear()
    assert (declared.found().kind, declared.found().by) == ("tensor", "declared")


def test_the_declared_kind_decides_and_the_recognised_one_is_kept() -> None:
    found = Made(declared="data", dtensor=2).found()
    assert (found.kind, found.seen, found.contradicted) == ("data", "tensor", True)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("sharded", {"ddp": [2]}),
        ("data", {"fsdp": 2}),
        ("mixed", {"fsdp": 2}),
        ("mixed", {"dtensor": 2}),
        ("pipeline", {"stage": True, "ddp": [2]}),
    ],
)
def test_another_word_for_it_contradicts_nothing(declared: str, said: dict[str, Any]) -> None:
    assert not Made(declared=declared, **said).found().contradicted


def test_steps_that_reduce_gradients_again_do_not_make_parted_replicas_local_sgd() -> None:
    """Every second step under no_sync: the replicas are equal after the first step, part in the second and never meet again."""
    parted = {0: "aa", 1: "bb", 2: "cd", 3: "ef", 4: "gh", 8: "ij"}
    assert Made(ddp=[2]).hashed(parted).calls([0, 2, 4, 6]).found().kind == "data"
    averaged = {0: "aa", 1: "bb", 2: "cd", 3: "ee", 4: "gh", 5: "ii", 8: "jk"}
    assert Made(ddp=[2]).hashed(averaged).calls([0, 2, 4, 6]).found().kind == "local_sgd"


def test_averages_that_are_rarer_than_the_run_is_long_are_local_sgd_if_declared() -> None:
    found = other_samples(declared="local_sgd").hashed(PARTING).found()
    assert (found.kind, found.contradicted, found.alone) == ("local_sgd", False, False)


def test_without_a_group_no_declaration_makes_it_distributed() -> None:
    assert Made(declared="data", group=0).found().alone


def test_an_unknown_parallelism_contradicts_nothing() -> None:
    assert not Made(declared="pipeline", libraries=["horovod"]).found().contradicted


@pytest.mark.parametrize(
    ("kind", "judged"),
    [
        ("data", {"replicas", "gradients", "samples", "random numbers", "loss", "speedup"}),
        ("sharded", {"replicas", "gradients", "samples", "random numbers", "loss", "speedup"}),
        ("local_sgd", {"samples", "random numbers", "loss", "speedup"}),
        ("tensor", {"loss", "speedup"}),
        ("pipeline", {"loss", "speedup"}),
        ("none", set()),
    ],
)
def test_only_what_it_has_is_judged(kind: str, judged: set[str]) -> None:
    measured = Made(declared=kind).measured()
    claims = ("replicas", "gradients", "samples", "random numbers", "loss", "speedup")
    assert {claim for claim in claims if absent(measured, "workers=2", claim) is None} == judged  # type: ignore[arg-type]
    assert all(why_not(measured, "workers=2", claim) for claim in set(claims) - judged)  # type: ignore[arg-type]


# ---- items ------------------------------------------------------------------------------------------------------------


def items(made: Made) -> set[float | None]:
    steps = made.measured().global_steps
    return set(steps.filter(steps["launch"] == made.number)["items"].to_list())


def test_the_items_of_replicas_are_added_up() -> None:
    assert items(Made(ddp=[2])) == {8.0}


@pytest.mark.parametrize("kind", ["tensor", "pipeline"])
def test_the_items_of_ranks_of_one_model_count_once(kind: str) -> None:
    made = Made(declared=kind)
    assert items(made) == {4.0}
    assert made.measured().mode == "strong", "four items at one worker, and four at two"


def test_the_stage_that_reads_no_batch_counts_none() -> None:
    made = Made(stage=True)
    made.made.rows["steps"] = [(*row[:-2], None if row[1] == 1 else row[-2], row[-1]) for row in made.made.rows["steps"]]
    assert items(made) == {4.0}


def test_items_are_not_known_where_it_is_not_known_whether_ranks_share_samples() -> None:
    made = Made(declared="mixed")
    assert items(made) == {None}
    assert "is unknown" in why_not(made.measured(), "workers=2", "speedup")


def test_ids_show_how_many_ranks_share_samples() -> None:
    assert items(Made(declared="mixed").samples([0, 1], [0, 1])) == {4.0}
    assert items(Made(declared="mixed").samples([0, 1], [2, 3])) == {8.0}


UNSEEN = "neither a process group nor a training was recorded"
FITS_NONE = "the ranks' communication fits no known parallelism"


@pytest.mark.parametrize(("group", "asked", "words"), [(0, False, UNSEEN), (2, False, FITS_NONE), (0, True, FITS_NONE)])
def test_ranks_without_recorded_training_are_not_classified(group: int, asked: bool, words: str) -> None:
    """Weights updated by hand, or processes that the script starts itself; where collectives are recorded a group was made, whoever saw
    it.
    """
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1, wall_s=10.0)
    number = made.launch(workers=2, wall_s=10.0)
    said = {key: value for key, value in NOTHING.items() if key not in ("bytes", "shapes", "optimizer")}  # of a model
    for rank in range(2):
        made.event(number, "parallelism", 1.0, rank=rank, incarnation=0, detail={**said, "group": group})
        if asked:
            call(made, number, rank=rank, step=None)
    found = parallelism(made.measured(), "workers=2")
    assert found.kind is None
    assert found.evidence.startswith(words)
