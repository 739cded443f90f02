"""The four layers: each passes, fails or is not run with its reason."""

from __future__ import annotations

import pytest

from fireassay.kinds.training.layers import layers
from fireassay.metrics.results import LazyResults
from fireassay.verdict.judge import examine, judge
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import LayerResult
from tests.handmade import Handmade
from tests.metrics.gradients_made import add
from tests.metrics.trials_made import timing
from tests.verdict.making import STEPS, add_hashes, good, judged

pytestmark = pytest.mark.slow


def of(made: Handmade, workers: int = 2) -> dict[str, LayerResult]:
    return {one.layer: one for one in judged(made).verdict.layers[f"workers={workers}"]}


def gradient(made: Handmade) -> LayerResult:
    """The layer of the gradient alone: of the findings it reads those on gradients."""
    measured = made.measured()
    evidence = Evidence(data=measured, results=LazyResults(measured), findings=examine(measured, "gradients"), gates=())
    return next(one for one in layers(evidence)["workers=2"] if one.layer == "gradient")


def with_gradients(two: dict[str, list[float]], *, precision: str = "float32", **words: object) -> LayerResult:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}], precision=precision)
    add(made, [two, two], precision=precision, **words)  # type: ignore[arg-type]
    return gradient(made)


def test_a_good_record_passes_what_was_run_and_says_what_was_not() -> None:
    found = of(good())
    assert {name: one.state for name, one in found.items()} == {
        "ledger": "pass",
        "gradient": "not run",
        "hashes": "pass",
        "trajectory": "advice",
    }
    assert "probe.watch" in found["gradient"].sentence
    assert found["ledger"].sentence == "every sample used once per epoch; the divisors of the losses were not reported"


def test_only_configurations_of_several_workers_have_layers() -> None:
    assert list(judged(good(levels=(1, 2, 4))).verdict.layers) == ["workers=2", "workers=4"]
    assert judge(timing([1.0, 1.0]).measured()).verdict.layers == {}


def test_a_record_without_anything_has_four_reasons() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    made.launch(workers=2)
    found = of(made)
    assert {one.state for one in found.values()} == {"not run"}
    assert all(one.sentence for one in found.values())


@pytest.mark.parametrize(
    ("two", "precision", "state", "words"),
    [
        ([3.0, 4.0], "float32", "pass", "rounding"),
        ([3.0, 4.0 + 1e-6], "float32", "pass", "k = 1"),
        ([3.0, 4.001], "float32", "advice", "float64 would decide"),
        ([3.0, 4.5], "float32", "fail", "error 1.0e-01 (w, of 1 parameter)"),
        ([1.5, 2.0], "float64", "fail", "k = 0.5"),
        ([3.0, 4.01], "bfloat16", "advice", "hides real faults"),
    ],
)
def test_the_gradient_is_judged_by_its_precision(two: list[float], precision: str, state: str, words: str) -> None:
    found = with_gradients({"w": two}, precision=precision)
    assert found.state == state, found
    assert words in found.sentence


@pytest.mark.parametrize(("two", "state"), [([3.0, 4.5], "advice"), ([1.5, 2.0], "fail")])
def test_a_gradient_of_samples_that_nobody_knows_fails_by_a_factor_alone(two: list[float], state: str) -> None:
    """Ranks that draw their own batches, as nanoGPT's do, have another gradient than one worker, and nothing is wrong; half of it is."""
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}], ids=None, precision="float32")
    add(made, [{"w": two}, {"w": two}], ids=None, precision="float32")
    found = gradient(made)
    assert found.state == state, found
    assert ("the samples were the same is unknown" in found.sentence) == (state == "advice")


@pytest.mark.parametrize(("alone", "several"), [(range(8), None), (None, range(8))])
def test_ids_of_one_side_alone_do_not_say_that_the_samples_were_the_same(alone: range | None, several: range | None) -> None:
    """One worker's DataLoader tells its ids, ranks that draw their batches by hand tell none, or the other way round."""
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}], ids=alone, precision="float32")
    add(made, [{"w": [3.0, 4.5]}] * 2, ids=several, precision="float32")
    found = gradient(made)
    assert found.state == "advice", found
    assert "whether the samples were the same is unknown" in found.sentence
    (named,) = [one for one in examine(made.measured(), "gradients") if one.rule == "gradient_differs"]
    assert named.severity == "note"
    assert "with the same samples" not in named.evidence


def test_a_failure_of_a_layer_is_that_of_its_finding() -> None:
    made = good()
    made.rows["samples"] = [row for row in made.rows["samples"] if row[1] == 0]  # rank 1's samples are nobody's
    found = of(made)
    assert found["ledger"].state == "fail"
    assert found["ledger"].sentence.startswith("samples_lost: ")


def test_a_scale_that_the_denominators_show_fails_the_layer_of_the_ledger() -> None:
    """Divided by the whole batch, and averaged over the two ranks again."""
    made = good()
    for number, row in enumerate(list(made.rows["launches"])):
        for rank in range(row[4]):
            for step in range(STEPS):
                made.fingerprint(number, "denominator", 8.0, rank=rank, step=step)
    found = of(made)
    assert found["ledger"].state == "fail"
    assert found["ledger"].sentence.startswith("gradient_scaled: every rank divides its losses by 8 in step 0")


def test_states_that_were_hashed_are_said() -> None:
    made = good(blocks=1)
    for rank in range(2):
        made.fingerprint(1, "random_hash", f"own-{rank}", rank=rank)
        made.fingerprint(1, "optimizer_hash", "same", rank=rank, step=1)
    assert of(made)["hashes"].sentence.endswith("optimizer states equal; random states different")


def test_a_model_with_dropout_is_not_judged_by_its_gradient() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}])
    number = add(made, [{"w": [3.0, 5.0]}] * 2)
    made.fingerprint(number, "random_layers", 2)
    found = gradient(made)
    assert found.state == "not run"
    assert "2 layers draw random numbers" in found.sentence


def test_an_optimizer_that_averages_by_itself_is_not_judged() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}])
    number = add(made, [{"w": [3.0, 5.0]}, {"w": [3.0, 3.0]}])
    add_hashes(made, number, 2)
    made.rows["fingerprints"] = [row for row in made.rows["fingerprints"] if row[6] != "hash-0"]
    found = gradient(made)
    assert found.state == "not run"
    assert "the optimizer averages" in found.sentence
