"""Trainers broken on purpose get the finding that names their fault, and no other; trainers that only look broken get none.

All are real trainings over gloo with two, three and four workers, in one start of torch (`several_trainers.py`), each held against one
worker's.
The broken ones change one thing of the good trainer, which they load through broken/digits.py.  One goes through the whole of assay; one,
whose model is worse and nothing else, is trained with three seeds and judged by its scores.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData, from_record
from fireassay.kinds.training.layers import layers
from fireassay.record.reader import open_record
from fireassay.spec.experiment import Quality
from fireassay.spec.load import load
from fireassay.verdict.evidence.gradient_faults import diagnose
from fireassay.verdict.judge import examine, judge
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.launched import Launched
from tests.launched import run as run_script
from tests.launchers.helpers import recorded
from tests.limits import TRAININGS_S
from tests.once import once
from tests.records.make import experiment
from tests.verdict.making import gate
from tests.verdict.test_broken_trainers import check

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]

WORKERS = (2, 3, 4)
GOOD = "digits/train.py"
BROKEN = {
    "broken/scaled_loss.py": "gradient_scaled",
    "broken/unequal_shards.py": "unequal_shards",
    "broken/shard_read_twice.py": "shard_read_twice",
    "broken/same_dropout.py": "same_random_numbers",
    "broken/unreduced_parameter.py": "parameter_not_reduced",
    "broken/seed_mismatch.py": "replica_seed_mismatch",
    "broken/unsynced.py": "gradients_not_synchronised",
    "broken/dropped_shard.py": "samples_lost",
    "broken/padding_duplicates.py": "samples_duplicated_by_padding",
}
BEYOND = {  # the first gradient and the final hashes: on two workers and on four; rule and severity
    "broken/rate_by_rank.py": ("learning_rate_differs_by_rank", "fail"),
    "broken/state_on_rank_0.py": ("optimizer_states_differ", "fail"),
    "broken/flipped_weight.py": ("parameters_changed_on_one_rank", "fail"),
    "broken/scaled_later.py": ("gradient_scaled", "fail"),
    "broken/clipped_locally.py": ("clipped_before_reduction", "fail"),
    "broken/one_rank_evaluates.py": ("mode_differs_by_rank", "fail"),
    "broken/drifting_statistics.py": ("batch_statistics_drift", "warning"),
    "broken/loss_without_a_number.py": ("loss_not_finite", "fail"),
}
TWO_AND_FOUR = (2, 4)
PADDED = 1277  # on 2 workers 1278, on 3 1278, on 4 1280
RIGHT = {  # of tests/examples/tricky.py, and how many workers; layer B: passed, or what it says instead
    "sampler": (4, "pass"),
    "dropping": (4, "pass"),
    "accumulated": (4, "pass"),
    "clipped": (2, "pass"),
    "mixed": (2, "advice"),
    "zero": (2, "pass"),
    "tied": (2, "pass"),
    "frozen": (2, "pass"),
    "unused": (2, "pass"),
    "normalised": (2, "not run"),
    "sharded": (4, "pass"),
    "sharded_accumulated": (2, "pass"),
    "sharded_halves": (2, "advice"),
    "hybrid": (4, "pass"),
}
WRONG = {
    "sharded_scaled": (4, "gradient_scaled", "fail"),
    "sharded_mean_of_means": (2, "gradient_differs", "fail"),
    "compressed": (2, "reduced_in_less_precision", "warning"),
}
QUANTISED = "digits/quantised.py"
WORSE, SEEDS = ("broken/worse_accuracy.py", 2), (1, 2, 3)
TABLES = ("steps", "samples", "fingerprints", "gradients", "examples")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every training there is, run once."""
    runs = [f"{GOOD}:1", *(f"{name}:{workers}" for name in (GOOD, *BROKEN) for workers in WORKERS)]
    runs += [f"{name}:{workers}" for name in BEYOND for workers in TWO_AND_FOUR]
    for name, (workers, *_) in (RIGHT | WRONG).items():
        runs += [f"{name}:1", f"{name}:{workers}"]
    runs += [f"{QUANTISED}:1:1"]
    runs += [f"{name}:{workers}:{seed}" for seed in SEEDS for name, workers in (WORSE, (GOOD, 1))]

    def train(folder: Path) -> None:
        done = run_script("-m", "tests.examples.several_trainers", folder, *runs, workers=max(WORKERS), limit_s=TRAININGS_S)
        assert done.returncode == 0, done.stderr[-4000:]

    return once(tmp_path_factory, "several", train)


def left(several: Path, name: str, *numbers: int) -> Launched:
    """Of so many workers, and a seed where there are several."""
    return Launched(several / ".".join((name.replace("/", "-"), *map(str, numbers))))


def beside_one(several: Path, name: str, workers: int, *, base: str) -> RecordData:
    """What a training left, beside what one worker's left."""
    return record([(1, left(several, base, 1)), (workers, left(several, name, workers))])


def record(launches: list[tuple[int, Launched]]) -> RecordData:
    """Launches of one and of several workers, in turn."""
    levels = tuple(sorted({workers for workers, _ in launches}))
    made = Handmade(levels=levels, blocks=len(launches) // len(levels), quality=Quality(metric="accuracy", margin=0.01))
    numbers = [made.launch(workers=workers, block=place // len(levels)) for place, (workers, _) in enumerate(launches)]
    tables = dict(made.measured().tables)
    for table in TABLES:
        own = [
            one.table(table).with_columns(launch=pl.lit(number, dtype=pl.Int32)) for number, (_, one) in zip(numbers, launches, strict=True)
        ]
        tables[table] = pl.concat(own)
    return RecordData(experiment=made.experiment, manifest=made.manifest, state="complete", sealed=True, tables=tables)


def of_correctness(measured: RecordData) -> list[Finding]:
    """The findings about whether the training is right, other than notes."""
    every = ("batch_statistics", "gradients", "losses", "modes", "replicas", "sample_weights", "samples", "training_state")
    return [one for name in every for one in examine(measured, name) if one.severity != "note"]


def layer_b(measured: RecordData, workers: int) -> tuple[str, str]:
    found = layers(Evidence(data=measured, results={}, findings=tuple(of_correctness(measured)), gates=()))[f"workers={workers}"]
    (gradient,) = [one for one in found if one.layer == "gradient"]
    return gradient.state, gradient.sentence


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_trainer_gets_the_name_of_its_fault_and_no_other(name: str, workers: int, several: Path) -> None:
    measured = beside_one(several, name, workers, base=GOOD)
    assert [(one.rule, one.configuration) for one in of_correctness(measured)] == [(BROKEN[name], f"workers={workers}")]
    diagnosis = diagnose(measured)[f"workers={workers}"]
    assert diagnosis is not None
    if diagnosis.fault == "gradient_scaled":
        assert "times one worker's, which is 1 / workers" in diagnosis.evidence
    if diagnosis.fault == "parameter_not_reduced":
        assert diagnosis.evidence.startswith("the gradient of 8.bias is not the same")


@pytest.mark.parametrize("workers", TWO_AND_FOUR)
@pytest.mark.parametrize("name", BEYOND)
def test_a_fault_beyond_the_first_gradient_gets_its_name_and_no_other(name: str, workers: int, several: Path) -> None:
    measured = beside_one(several, name, workers, base=GOOD)
    found = [(one.rule, one.severity, one.configuration) for one in of_correctness(measured)]
    assert found == [(*BEYOND[name], f"workers={workers}")]


@pytest.mark.parametrize("workers", WORKERS)
def test_the_good_trainer_gets_no_finding(workers: int, several: Path) -> None:
    measured = beside_one(several, GOOD, workers, base=GOOD)
    assert of_correctness(measured) == []
    assert layer_b(measured, workers)[0] == "pass"


@pytest.mark.parametrize("name", RIGHT)
def test_a_trainer_that_only_looks_broken_gets_no_finding(name: str, several: Path) -> None:
    workers, state = RIGHT[name]
    measured = beside_one(several, name, workers, base=name)
    assert of_correctness(measured) == []
    found, sentence = layer_b(measured, workers)
    assert found == state, sentence


@pytest.mark.parametrize("name", WRONG)
def test_what_no_hash_shows_is_found_by_its_gradient(name: str, several: Path) -> None:
    """Parts of a sharded model differ between ranks by design, and what was averaged coarsely agrees: layer B alone can tell."""
    workers, fault, severity = WRONG[name]
    measured = beside_one(several, name, workers, base=name)
    (finding,) = of_correctness(measured)
    assert (finding.rule, finding.severity) == (fault, severity)
    if fault == "gradient_scaled":
        assert f"is {1 / workers} times one worker's, which is 1 / workers" in finding.evidence
        assert "in float64" in finding.evidence


def hashes(launched: Launched) -> dict[int, int]:
    """Step -> number of different parameter hashes over the ranks."""
    found: dict[int, set[str]] = {}
    for row in launched.table("fingerprints").iter_rows(named=True):
        if row["what"] == "parameter_hash":
            found.setdefault(row["step"], set()).add(row["text"])
    return {step: len(texts) for step, texts in sorted(found.items())}


def uses(launched: Launched) -> Counter[int]:
    return Counter(id for ids in launched.table("samples")["ids"].to_list() for id in ids)


@pytest.mark.parametrize("workers", WORKERS)
def test_the_evidence_is_what_the_fault_must_leave(workers: int, several: Path) -> None:
    """Counted by hand: 960 samples, four steps of 240, one epoch."""
    seeds = left(several, "broken/seed_mismatch.py", workers)
    assert hashes(seeds) == dict.fromkeys((0, 1, 2, 4), workers)
    norms = seeds.table("fingerprints").filter(pl.col("what") == "grad_norm", pl.col("step") == 0)["value"]
    assert (len(norms), norms.n_unique()) == (workers, 1), "the averaged gradients agree, so that only the hashes show this fault"
    assert hashes(left(several, "broken/unsynced.py", workers)) == {0: 1} | dict.fromkeys((1, 2, 4), workers)
    dropped = left(several, "broken/dropped_shard.py", workers)
    assert (set(uses(dropped).values()), len(uses(dropped))) == ({1}, 4 * workers * (240 // (workers + 1)))
    assert set(hashes(dropped).values()) == {1}
    padded = left(several, "broken/padding_duplicates.py", workers)
    assert (len(uses(padded)), uses(padded).total()) == (PADDED, PADDED + -PADDED % workers)


def test_a_broken_trainer_goes_through_the_whole_of_assay(repository: Path, tmp_path: Path) -> None:
    record = open_record(recorded(experiment("unsynced", levels=(2,)), folder=repository, root=tmp_path))
    check("unsynced", judge(from_record(record)))


def test_worse_accuracy_shows_in_the_scores_and_its_cause_in_the_learning_rate(several: Path) -> None:
    """Three seeds, as a verdict on quality needs three launches; the good trainer reaches 0.8 in as many epochs."""
    name, workers = WORSE
    launches = [one for seed in SEEDS for one in ((1, left(several, GOOD, 1, seed)), (workers, left(several, name, workers, seed)))]
    measured = record(launches)
    (finding,) = of_correctness(measured)  # no replica and no sample is wrong; the cause is seen all the same
    assert (finding.rule, finding.severity) == ("learning_rate_differs", "warning")
    assert "0.01 times" in finding.evidence
    for one in (one for count, one in launches if count == workers):
        assert set(hashes(one).values()) == {1}
        assert set(uses(one).values()) == {6}
    judgement = judge(measured)
    assert gate(judgement, "quality", workers).status == "FAIL"
    assert gate(judgement, "quality", workers).sentence.startswith("quality degraded")
    assert [f.configuration for f in judgement.verdict.findings if f.rule == "quality_degraded"] == [f"workers={workers}"]
    assert all(one.configuration != f"workers={workers}" for one in judgement.verdict.recommendations)


def test_the_quantised_trainer_trains_as_the_good_one_and_is_scored_in_eight_bits(several: Path) -> None:
    """examples/quantised.toml: only the scores may differ, by little, and some margins of the answers must."""
    good, quantised = left(several, GOOD, 1, 1), left(several, QUANTISED, 1, 1)
    trained = [one.table("fingerprints").filter(pl.col("what") == "parameter_hash")["text"].to_list() for one in (good, quantised)]
    assert trained[0] == trained[1]
    scores = [one.table("examples").sort("example")["score"] for one in (good, quantised)]
    assert len(scores[0]) == len(scores[1])
    assert abs((scores[0] - scores[1]).sum()) < 0.03 * len(scores[0])


def test_a_weight_in_eight_bits_is_near_the_weight_row_by_row(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import runpy

    import torch

    monkeypatch.syspath_prepend(str(repository / "examples" / "digits"))
    in_eight_bits = runpy.run_path(str(repository / "examples/digits/quantised.py"))["in_eight_bits"]
    weight = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0)) * torch.tensor([1e-3, 1.0, 10.0, 0.0]).reshape(4, 1, 1)
    rounded, largest = in_eight_bits(weight), weight.reshape(4, -1).abs().amax(dim=1)
    assert ((rounded - weight).reshape(4, -1).abs().amax(dim=1) <= largest / 127 / 2 * (1 + 1e-5)).all()
    steps = rounded.reshape(4, -1)[:3] * 127 / largest[:3, None]
    assert (steps - steps.round()).abs().max() < 1e-3
    assert not rounded[3].any()


def test_the_experiment_of_the_quantised_trainer_goes_with_that_of_the_digits(repository: Path) -> None:
    digits, quantised = (load(repository / "examples" / name) for name in ("digits.toml", "quantised.toml"))
    assert (repository / "examples" / quantised.workload.script).is_file()
    assert quantised.factor.levels == (1,)
    same = ("launches", "quality", "prices", "scaling")
    assert [getattr(digits, name) for name in same] == [getattr(quantised, name) for name in same]
    assert digits.workload.arguments == quantised.workload.arguments
