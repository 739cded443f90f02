"""Was every sample used once, with its weight, and was held-out data held out?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.estimates.estimate import Absent
from fireassay.verdict.audits.training import samples as audited
from fireassay.verdict.evidence.gradient_faults import diagnose
from tests.handmade import Handmade
from tests.metrics.gradients_made import add
from tests.verdict.making import EPOCH, STEPS, add_samples, change, good, judged, rules_of, wrong

rules = rules_of(audited.AUDITS)

pytestmark = pytest.mark.slow


# ---- samples ----
# samples: the ledger of ids, exact.

SAMPLES = catalog.load("verdict.audits", "samples")
IDS = 5  # column of samples


def dealt(shares: dict[int, list[list[int]]], size: int, *, workers: int = 2) -> Handmade:
    """One epoch: worker count -> the ids of each rank."""
    made = good(leave_out=("samples", "steps"))
    for number, row in enumerate(list(made.rows["launches"])):
        made.fingerprint(number, "dataset_size", size)
        for rank, ids in enumerate(shares[row[4]]):
            made.samples(number, ids, rank=rank)
    return made


def test_every_id_once_gives_no_finding() -> None:
    assert wrong(judged(dealt({1: [[0, 1, 2, 3]], 2: [[0, 2], [1, 3]]}, 4))) == []


def test_ids_that_no_rank_used_are_lost() -> None:
    judgement = judged(dealt({1: [[0, 1, 2, 3, 4, 5]], 2: [[0, 1], [2, 3]]}, 6))
    assert wrong(judgement) == ["samples_lost"]
    finding = next(f for f in judgement.verdict.findings if f.rule == "samples_lost")
    assert finding.configuration == "workers=2"
    assert finding.evidence == "2 of 6 samples used by no rank in epoch 0 of launch 1 (5 of 5 epochs)"
    assert judgement.verdict.status == "FAIL"


def test_padding_to_a_multiple_of_the_workers_is_named_so() -> None:
    """-5 mod 2 = 1 duplicate and none lost."""
    judgement = judged(dealt({1: [[0, 1, 2, 3, 4]], 2: [[0, 2, 4], [1, 3, 0]]}, 5))
    assert wrong(judgement) == ["samples_duplicated_by_padding"]


def test_more_duplicates_than_padding_needs_are_duplicates() -> None:
    """-5 mod 2 = 1, but three samples are used twice."""
    assert wrong(judged(dealt({1: [[0, 1, 2, 3, 4]], 2: [[0, 1, 2, 3], [1, 2, 3, 4]]}, 5))) == ["samples_duplicated"]


def test_duplicates_of_a_data_set_that_needs_no_padding_are_duplicates() -> None:
    assert wrong(judged(dealt({1: [[0, 1, 2, 3]], 2: [[0, 1, 2], [3, 0]]}, 4))) == ["samples_duplicated"]


def test_one_id_lost_and_another_used_twice_are_two_findings() -> None:
    judgement = judged(dealt({1: [[0, 1, 2, 3]], 2: [[0, 1], [2, 2]]}, 4))
    assert sorted(wrong(judgement)) == ["samples_duplicated", "samples_lost"]


def test_a_lost_shard_is_blamed_on_the_sampler_and_not_on_the_scaling_mode() -> None:
    """Rank 1 of 2 trains on nothing: half of the items per step, and half of the ids."""
    made = good()
    made.rows["samples"] = [row for row in made.rows["samples"] if row[1] == 0]
    change(made, "steps", 12, lambda row: 0.0 if row[1] == 1 else row[12], workers=2)
    assert wrong(judged(made)) == ["samples_lost"]


def test_ranks_that_all_read_everything_are_blamed_on_the_sampler_and_not_on_the_scaling_mode() -> None:
    """Both ranks train on all 8 samples of each step: 16 items per step instead of 8."""
    made = good(leave_out=("samples",))
    for number, row in enumerate(list(made.rows["launches"])):
        for rank in range(row[4]):
            for step in range(STEPS):
                first = 8 * (step % EPOCH)
                made.samples(number, range(first, first + 8), rank=rank, epoch=step // EPOCH, step=step)
        made.fingerprint(number, "dataset_size", 32)
    change(made, "steps", 12, 8.0, workers=2)
    assert wrong(judged(made)) == ["samples_duplicated"]


def test_a_run_that_stops_inside_an_epoch_everywhere_has_lost_nothing() -> None:
    """Five of eight steps: the second epoch of every launch is cut short, at the base as well."""
    made = good()
    for table, column in (("samples", 4), ("steps", 3)):
        made.rows[table] = [row for row in made.rows[table] if row[column] < 5]
    judgement = judged(made)
    assert rules(judgement) == {"epoch_cut_short": [None]}
    assert judgement.verdict.findings[0].severity == "note"


def test_a_run_that_stops_inside_its_only_epoch_says_that_losses_were_not_checked() -> None:
    made = good()
    for table, column in (("samples", 4), ("steps", 3)):
        made.rows[table] = [row for row in made.rows[table] if row[column] < 3]
    judgement = judged(made)
    assert rules(judgement) == {"epoch_cut_short": [None]}
    assert "samples not checked" in judgement.verdict.dimensions["workers=2"]["correctness"].sentence


def test_an_epoch_that_only_the_larger_configuration_leaves_early_is_lost() -> None:
    """The base used all 32 samples in the second epoch; two workers stopped after one of its four steps."""
    made = good()
    big = {row[0] for row in made.rows["launches"] if row[4] == 2}
    made.rows["samples"] = [row for row in made.rows["samples"] if row[0] not in big or row[4] < 5]
    judgement = judged(made)
    assert rules(judgement) == {"samples_lost": ["workers=2"]}
    assert judgement.verdict.findings[0].evidence.startswith("24 of 32 samples used by no rank in epoch 1")


def test_duplicates_count_even_inside_an_epoch_that_was_cut_short() -> None:
    made = good()
    for table, column in (("samples", 4), ("steps", 3)):
        made.rows[table] = [row for row in made.rows[table] if row[column] < 3]
    change(made, "samples", IDS, lambda row: [0, 1, 2, 3] if row[1] == 1 else row[IDS], workers=2)
    assert "samples_duplicated" in wrong(judged(made))


def test_samples_lost_after_a_restart_are_found_in_the_fault_launch() -> None:
    """After the restart rank 1 skips the second step of an epoch that it should have done again."""
    made = good()
    number = made.launch(workers=2, block=5, role="fault")
    add_samples(made, number, 2)
    made.rows["samples"] = [row for row in made.rows["samples"] if (row[0], row[1], row[4]) != (number, 1, 5)]
    assert wrong(judged(made)) == ["samples_lost"]


def test_weights_of_a_step_done_again_count_once() -> None:
    made = good()
    number = made.launch(workers=2, block=5, role="fault")
    add_samples(made, number, 2)
    again = [(row[0], row[1], 1, *row[3:]) for row in made.rows["samples"] if row[0] == number and row[4] >= 6]
    made.rows["samples"] += again
    assert wrong(judged(made)) == []


def test_without_ids_nothing_is_found_and_the_dimension_says_so() -> None:
    judgement = judged(good(leave_out=("samples",)))
    assert rules(judgement) == {}
    assert "samples not checked" in judgement.verdict.dimensions["workers=2"]["correctness"].sentence


def two_epochs(orders: list[list[int]], size: int, *, batch: int, alone: list[list[int]] | None = None) -> Handmade:
    """Two epochs in batches; two ranks take turns."""
    made = good(leave_out=("samples", "steps"))
    for number, row in enumerate(list(made.rows["launches"])):
        made.fingerprint(number, "dataset_size", size)
        step = 0
        for epoch, order in enumerate(alone if alone and row[4] == 1 else orders):
            for begin in range(0, len(order), batch):
                for rank in range(row[4]):
                    made.samples(number, order[begin : begin + batch][rank :: row[4]], rank=rank, epoch=epoch, step=step)
                step += 1
    return made


MIXED = [11, 3, 7, 0, 9, 1, 14, 5, 2, 15, 8, 4, 13, 6, 12, 10]


def test_a_last_batch_that_is_dropped_everywhere_is_a_note() -> None:
    """18 samples in batches of 8: two are left out of every epoch, other ones each time."""
    orders = [MIXED, [16, 17, *MIXED[:14]]]
    judgement = judged(two_epochs(orders, 18, batch=8))
    assert wrong(judgement) == []
    assert rules(judgement) == {"last_batch_dropped": [None]}
    assert "2 of 18 samples fill no batch" in judgement.verdict.findings[0].evidence


def test_what_only_several_workers_leave_out_or_what_fills_a_batch_is_lost() -> None:
    alone = [[*MIXED, 16, 17], [16, 17, *MIXED]]
    assert wrong(judged(two_epochs([MIXED, [16, 17, *MIXED[:14]]], 18, batch=8, alone=alone))) == ["samples_lost"]
    everywhere = judged(two_epochs([MIXED, MIXED[::-1]], 24, batch=8))
    assert wrong(everywhere) == ["samples_lost", "samples_lost"]


def left_out(size: int, used: int, *, batch: int, levels: tuple[int, ...], passes: int = 1) -> dict[str, list[str | None]]:
    """Two epochs that leave the last ids out everywhere; a step's share of a rank is told in as many parts."""
    made = good(levels=levels, blocks=1, leave_out=("samples", "steps"))
    for number, row in enumerate(list(made.rows["launches"])):
        made.fingerprint(number, "dataset_size", size)
        for step, begin in enumerate((*range(0, used, batch), *range(0, used, batch))):
            for rank in range(row[4]):
                own = range(begin, min(begin + batch, used))[rank :: row[4]]
                for part in range(passes):
                    of_part = own[part * batch // passes : (part + 1) * batch // passes]
                    made.samples(number, of_part, rank=rank, epoch=step // -(-used // batch), step=step)
    return {rule: where for rule, where in rules(judged(made)).items() if rule in ("samples_lost", "last_batch_dropped")}


def test_what_several_workers_leave_out_is_lost_where_no_one_worker_was_recorded() -> None:
    """A sampler's drop_last: 60 of 61 on 2 and on 4; one worker would use them all."""
    assert left_out(61, 60, batch=20, levels=(2, 4)) == {"samples_lost": ["workers=2", "workers=4"]}
    assert left_out(61, 60, batch=20, levels=(4,)) == {"samples_lost": ["workers=4"]}
    assert left_out(61, 60, batch=20, levels=(1, 2)) == {"last_batch_dropped": [None]}


def test_what_is_left_out_beside_a_batch_that_is_not_full_is_lost() -> None:
    """63 = 3 x 20 + 3: batches that are not full are used, and one sample is not."""
    assert left_out(64, 63, batch=20, levels=(1, 2)) == {"samples_lost": ["workers=1", "workers=2"]}
    assert left_out(64, 60, batch=20, levels=(1, 2)) == {"last_batch_dropped": [None]}


def test_the_batch_that_is_dropped_may_be_one_of_those_that_a_step_accumulates() -> None:
    """Batches of 4, two to a step: 60 = 7 x 8 + 4, and the last 1 of 61 fills none."""
    assert left_out(61, 60, batch=8, levels=(1, 2), passes=2) == {"last_batch_dropped": [None]}
    assert left_out(61, 60, batch=8, levels=(1, 2)) == {"samples_lost": ["workers=1", "workers=2"]}


def test_a_dropped_batch_is_said_of_several_workers_only_where_they_dropped_it() -> None:
    alone = judged(two_epochs([[*MIXED, 16, 17], [16, 17, *MIXED]], 18, batch=8, alone=[MIXED, MIXED[::-1]])).verdict
    assert next(f for f in alone.findings if f.rule == "last_batch_dropped").evidence.endswith("with one worker")


def test_shards_that_are_read_in_turn_each_in_its_order_are_not_shuffled() -> None:
    """0 1 2 3 | 16 17 18 19 | 4 5 6 7 | ...: it falls at every second batch, and in none."""
    turns = [32 * shard + begin for begin in range(0, 32, 4) for shard in range(2)]
    order = [id_ for begin in turns for id_ in range(begin, begin + 4)]
    assert rules(judged(two_epochs([order, order], 64, batch=4))) == {}


def test_batches_of_one_are_looked_at_from_one_to_the_next() -> None:
    assert rules(judged(two_epochs([MIXED, MIXED], 16, batch=2))) == {"same_order_every_epoch": ["workers=1", "workers=2"]}
    assert rules(judged(two_epochs([list(range(16))] * 2, 16, batch=2))) == {}


def test_epochs_that_were_not_told_apart_are_suspected() -> None:
    made = two_epochs([MIXED, MIXED[::-1]], 16, batch=8)
    made.rows["samples"] = [(*row[:3], 0, *row[4:]) for row in made.rows["samples"]]
    finding = next(f for f in judged(made).verdict.findings if f.rule == "samples_duplicated")
    assert "probe.steps(loader, epoch=epoch)" in finding.remedy


def test_rows_that_died_with_a_worker_are_no_loss() -> None:
    """Rank 1's rows of step 1 never reached the disk; the checkpoint after it did."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="fault")
    made.fingerprint(number, "dataset_size", 8)
    for epoch in range(2):
        for step in range(2):
            for rank in range(2):
                if (epoch, step, rank) != (0, 1, 1):
                    ids = [4 * step + 2 * rank, 4 * step + 2 * rank + 1]
                    made.samples(number, ids, rank=rank, epoch=epoch, step=2 * epoch + step, incarnation=epoch)
    assert [one.rule for one in SAMPLES.examine(made.measured(), {}) if one.severity == "fail"] == []


def test_a_launch_of_which_nobody_can_tell_what_was_trained_on_has_no_ledger() -> None:
    """Two samples seem lost; but they were copied, in an order that could be another one."""
    made = dealt({1: [[0, 1, 2, 3, 4, 5]], 2: [[0, 1], [2, 3]]}, 6)
    for number, row in enumerate(list(made.rows["launches"])):
        if row[4] == 2:
            made.event(number, "samples_unknown", 1.0, rank=0, detail={"reason": "two iterators of one loader"})
    judgement = judged(made)
    assert wrong(judgement) == []
    for metric in ("samples_lost", "samples_duplicated"):
        absent = judgement.results[metric]["workers=2"]
        assert isinstance(absent, Absent)
        assert "are unknown: two iterators of one loader" in absent.detail
        assert not isinstance(judgement.results[metric]["workers=1"], Absent)


# ---- sample weights ----
# sample_weights: told denominators are exact, untold ones a note unless the gradient tells.

SAMPLE_WEIGHTS = catalog.load("verdict.audits", "sample_weights")


def unequal(*, denominators: tuple[float, float] | None, gradients: bool = False) -> dict[str, str]:
    made = Handmade(levels=(1, 2), blocks=1)
    right = {"w": [3.0, 4.0]}
    add(made, [right] if gradients else [{}])
    number = add(made, [{"w": [3.0, 4.3]}] * 2 if gradients else [{}, {}])
    made.rows["samples"] = [row for row in made.rows["samples"] if row[0] != number]
    made.rows["steps"] = [row for row in made.rows["steps"] if row[0] != number]
    for rank, share in enumerate((5, 3)):
        made.steps(number, rank=rank, seconds=[1.0], items=float(share))
        made.samples(number, range(5) if rank == 0 else range(5, 8), rank=rank)
        if denominators:
            made.fingerprint(number, "denominator", denominators[rank], rank=rank)
    return {finding.rule: finding.severity for finding in SAMPLE_WEIGHTS.examine(made.measured(), {})}


def test_a_told_mean_over_unequal_shards_fails_and_the_right_one_does_not() -> None:
    assert unequal(denominators=(5.0, 3.0)) == {"unequal_shards": "fail"}
    assert unequal(denominators=(4.0, 4.0)) == {}


def test_untold_it_is_a_note_and_with_a_wrong_gradient_a_failure() -> None:
    assert unequal(denominators=None) == {"sample_weights_not_measured": "note"}
    assert unequal(denominators=None, gradients=True) == {"unequal_shards": "fail"}


@given(st.lists(st.tuples(*[st.sampled_from([None, 2.0, 3.0])] * 2, *[st.integers(0, 3)] * 2), min_size=1, max_size=4))
def test_shares_are_unequal_where_all_ranks_items_or_else_samples_say_so(steps: list[tuple[float | None, float | None, int, int]]) -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for step, (*items, a, b) in enumerate(steps):
        for rank, samples in enumerate((a, b)):
            made.steps(number, rank=rank, seconds=[1.0], first=step, items=items[rank])
            if samples:
                made.samples(number, range(samples), rank=rank, step=step)
    known = [(x or float(a) or None, y or float(b) or None) for x, y, a, b in steps]
    expected = any(None not in pair and pair[0] != pair[1] for pair in known)
    found = [finding.rule for finding in SAMPLE_WEIGHTS.examine(made.measured(), {})]
    assert ("sample_weights_not_measured" in found) == expected


def divided(alone: list[float] | None, two: Sequence[tuple[float | None, float | None]]) -> dict[str, str]:
    """Every named fault."""
    return {name: one.fault for name, one in diagnose(weighed(alone, two).measured()).items() if one is not None}


def weighed(alone: list[float] | None, two: Sequence[tuple[float | None, float | None]]) -> Handmade:
    """Steps of 8 items, the last of 6; what one worker and two divide by in each."""
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            for step in range(2):
                made.steps(number, rank=rank, seconds=[1.0], first=step, items=(8.0, 6.0)[step] / workers)
                told = two[step][rank] if workers == 2 else None if alone is None else alone[step]
                if told is not None:
                    made.fingerprint(number, "denominator", told, rank=rank, step=step)
    return made


def test_the_same_divisor_for_a_batch_that_is_not_full_is_no_fault() -> None:
    assert divided([8.0, 8.0], [(4.0, 4.0), (4.0, 4.0)]) == {}
    assert divided(None, [(4.0, 4.0), (4.0, 4.0)]) == {}
    assert divided([8.0, 6.0], [(4.0, 4.0), (4.0, 4.0)]) == {"workers=2": "gradient_scaled"}, "one worker does otherwise"


def test_the_same_wrong_divisor_on_all_ranks_is_a_scale_and_no_inequality() -> None:
    """Divided by the whole batch, and averaged over the two ranks again."""
    assert divided([8.0, 6.0], [(8.0, 8.0), (6.0, 6.0)]) == {"workers=2": "gradient_scaled"}
    assert divided(None, [(8.0, 8.0), (6.0, 6.0)]) == {"workers=2": "gradient_scaled"}
    assert divided([8.0, 8.0], [(4.0, 4.0), (4.5, 3.5)]) == {"workers=2": "unequal_shards"}


def test_what_one_rank_alone_tells_is_no_scale_of_all_and_is_not_excused() -> None:
    """Rank 0 divides by too much in the step that is not full; what rank 1 divides by is not known."""
    told = [(4.0, None), (3.5, None)]
    assert divided([8.0, 6.0], told) == {"workers=2": "unequal_shards"}
    assert divided(None, told) == {"workers=2": "unequal_shards"}
    assert divided([8.0, 8.0], [(4.0, None), (4.0, None)]) == {}, "as one worker does"


# ---- data loading ----
# data_loading: waiting for data inside of the step.


def waiting(data_s: float) -> Handmade:
    """Five launches of one worker, ten steps of 1 s, of which each waits so long for its batch."""
    made = Handmade(levels=(1,), blocks=5)
    for block in range(5):
        made.steps(made.launch(workers=1, block=block), seconds=[1.0] * 10, items=8.0, phases_s={"data": data_s})
    return made


@pytest.mark.parametrize(("data_s", "named"), [(0.0, False), (0.19, False), (0.21, True), (0.9, True)])
def test_a_fifth_of_the_step_is_the_limit(data_s: float, named: bool) -> None:
    assert ("data_in_step_time" in rules(judged(waiting(data_s)))) is named


def test_the_share_is_said() -> None:
    (finding,) = [f for f in judged(waiting(0.5)).verdict.findings if f.rule == "data_in_step_time"]
    assert finding.evidence.startswith("50% of the steady step time")


# ---- held out ----
# held_out: samples in training and evaluation.

Evaluated = tuple[int, int, bool]  # samples, trained on, of the training's own data set


def evaluated(*every: Evaluated) -> Handmade:
    made = good()
    for number in range(len(made.rows["launches"])):
        for samples, trained_on, own in every:
            detail = {"data": f"TensorDataset of {samples}", "samples": samples, "training_data": own}
            made.event(number, "evaluated_samples", 1.0, rank=0, value=float(trained_on), detail=detail)
    return made


def told(made: Handmade) -> dict[str, str]:
    findings = judged(made).verdict.findings
    return {one.rule: one.severity for one in findings if one.rule.startswith("evaluat")}


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ([], {}),
        ([(100, 0, False)], {}),
        ([(100, 0, True)], {}),  # before the first step
        ([(100, 3, False)], {"evaluation_overlaps_training": "warning"}),
        ([(100, 100, True)], {"evaluated_on_training_data": "warning"}),
        ([(100, 100, True), (50, 0, False)], {"evaluated_on_training_data": "note"}),
        ([(100, 0, False), (100, 100, True)], {"evaluated_on_training_data": "warning"}),  # before the first step, and after it
        ([(100, 100, True), (50, 1, False)], {"evaluation_overlaps_training": "warning"}),
    ],
)
def test_only_a_shared_sample_is_a_finding_and_the_training_s_own_data_are_a_note_beside_others(
    every: list[Evaluated], expected: dict[str, str]
) -> None:
    assert told(evaluated(*every)) == expected


def test_the_evidence_says_how_many_of_how_many() -> None:
    judgement = judged(evaluated((100, 3, False)))
    assert wrong(judgement) == []
    (finding, _) = [one for one in judgement.verdict.findings if one.rule == "evaluation_overlaps_training"]
    assert finding.evidence == ("of 100 samples evaluated in launch 0 (TensorDataset of 100), the model had been trained on 3")


@pytest.mark.slow
def test_the_same_shuffled_order_in_every_epoch_is_a_warning_and_an_unshuffled_one_is_none() -> None:
    found = judged(two_epochs([MIXED, MIXED], 16, batch=8))
    assert rules(found) == {"same_order_every_epoch": ["workers=1", "workers=2"]}
    assert {f.severity for f in found.verdict.findings} == {"warning"}
    assert rules(judged(two_epochs([MIXED, MIXED[::-1]], 16, batch=8))) == {}
    assert rules(judged(two_epochs([list(range(16))] * 2, 16, batch=8))) == {}


@pytest.mark.slow
def test_the_epoch_that_a_restart_interrupted_is_judged_neither_for_losses_nor_for_repetitions() -> None:
    """Saved after step 1; the script begins the epoch again: 0 to 3 are used twice, and a note says so. The whole epoch after it is
    judged.
    """
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1, role="fault")
    made.fingerprint(number, "dataset_size", 8)
    for step in range(4):
        made.samples(number, [2 * step, 2 * step + 1], step=step)
    for step, first in enumerate((0, 2, 4), start=2):
        made.samples(number, [first, first + 1], step=step, incarnation=1)
    for step, first in enumerate((0, 2, 4), start=5):  # 6 and 7 are missing
        made.samples(number, [first, first + 1], step=step, incarnation=1, epoch=1)
    for step, first in enumerate((0, 2, 4, 6), start=8):
        made.samples(number, [first, first + 1], step=step, incarnation=1, epoch=2)
    found = {one.rule: one for one in SAMPLES.examine(made.measured(), {})}
    assert found["epoch_interrupted"].severity == "note"
    assert "4 samples were used again and 2 by no recorded rank" in found["epoch_interrupted"].evidence
    assert "samples_duplicated" not in found
    assert "2 of 8 samples used by no rank in epoch 1" in found["samples_lost"].evidence
