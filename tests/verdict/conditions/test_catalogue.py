"""Is every field of the catalogue read, explained and bucketed as its class says?"""

from __future__ import annotations

import pytest

from fireassay.spec.kind import EVERY
from fireassay.verdict.comparison.comparability import ALIASES, NOT_RECORDED, covers, declare, differences
from fireassay.verdict.conditions.catalogue import CONDITIONS, known_names, reference
from tests.handmade import Handmade
from tests.verdict.comparing import complete, side, with_manifest

# Fields that need something which a training record does not have, or that the digest of the script makes needless.
NOT_HERE = {
    "workload.script",
    "warm_up.trials",
    "workload.environment.*",
    "workload.files.*",
    "conditions.*",
    "noise.sentinel_s",
    "record.seal",
    *(c.name for c in CONDITIONS if not {"training", EVERY} & set(c.about)),
}


def test_every_field_says_where_it_comes_from_and_why_it_matters() -> None:
    assert [c.name for c in CONDITIONS if not (c.source and c.why and c.how)] == []
    assert len(set(known_names())) == len(CONDITIONS)


@pytest.mark.slow
def test_a_record_that_says_everything_has_every_field() -> None:
    made = side("a", complete())
    unread = {c.name for c in CONDITIONS if not c.fields(made.measured, made.judgement.results)}
    assert unread == NOT_HERE


@pytest.mark.slow
def test_a_record_that_says_nothing_about_its_machine_has_no_field_of_it() -> None:
    bare = side("a", Handmade())
    fields = {c.name for c in CONDITIONS if c.kind in ("hardware", "condition") and c.fields(bare.measured, {})}
    assert fields == set()


@pytest.mark.slow
def test_a_reading_that_could_not_be_read_is_not_recorded_rather_than_a_value() -> None:
    made = side("a", complete())
    broken = with_manifest(made, "b", "environment/before/cpu/model", {"absent": "no /proc/cpuinfo"})
    (found,) = differences([made, broken])
    assert (found.field, found.values, found.refuses) == ("cpu.model", ("EPYC 9654", NOT_RECORDED), False)


@pytest.mark.slow
def test_another_image_refuses_unless_it_is_studied_and_the_registry_does_not_matter() -> None:
    made = side("a", complete())
    key = "environment/before/allocation/image_id"
    (found,) = differences([made, with_manifest(made, "b", key, "lab/train@sha256:34")])
    assert (found.field, found.values, found.refuses) == ("allocation.image_id", ("sha256:12", "sha256:34"), True)
    assert covers(found.field, declare(["software"], (), ()))
    assert differences([made, with_manifest(made, "b", key, "docker-pullable://mirror/lab/train@sha256:12")]) == ()


def test_the_reference_lists_every_field_and_every_alias() -> None:
    page = reference(ALIASES)
    assert [name for name in (*known_names(), *ALIASES) if f"`{name}`" not in page] == []


def test_every_alias_stands_for_fields_of_the_catalogue() -> None:
    names = {name.removesuffix(".*") for name in known_names()}
    keys = {
        "conditions.engine",
        "conditions.model",
        "conditions.dataset",
        "conditions.batch",
        "conditions.batch_size",
        "conditions.global_batch",
    }
    for alias, fields in ALIASES.items():
        unknown = [
            f for f in fields if f not in names and f not in keys and not any(n.startswith(f"{f}.") or f.startswith(f"{n}.") for n in names)
        ]
        assert unknown == [], alias


def test_what_follows_from_a_declared_field_is_declared_with_it() -> None:
    declared = declare(["conditions.model"], (), ("model",))
    assert covers("model.parameters", declared)
    assert not covers("dataset.size", declared)


def test_a_key_of_conditions_is_understood_by_its_own_name() -> None:
    assert declare(["precision"], (), ("precision",)) == {"conditions.precision"}


@pytest.mark.slow
def test_the_sentinel_is_the_median_of_its_readings_and_a_slower_one_is_told_without_refusing() -> None:
    def timed(seconds: float) -> Handmade:
        made = complete()
        for launch in range(4):
            for counter, at_s in (("before", -1.0), ("after", 11.0)):
                made.reading(launch, "sentinel", counter, seconds, at_s=at_s, method="self")
        return made

    (found,) = [one for one in differences([side("a", timed(0.05)), side("b", timed(0.06))]) if "sentinel" in one.field]
    assert (found.field, found.kind, found.refuses) == ("noise.sentinel_s", "condition", False)
    assert differences([side("a", timed(0.05)), side("b", timed(0.051))]) == ()


@pytest.mark.slow
def test_what_was_done_in_each_configuration_is_told_in_their_order() -> None:
    """The order of the launches, or of a table's groups, is not the same in two judgements of one record."""
    levels = tuple(range(1, 13))
    made = Handmade(levels=levels, blocks=1)
    for workers in reversed(levels):
        made.steps(made.launch(workers=workers), seconds=(0.1, 0.1), items=4.0)
    judged = side("a", made)
    for name in ("batch.items_per_step.*", "work.steps.*"):
        (one,) = [condition for condition in CONDITIONS if condition.name == name]
        fields = one.fields(judged.measured, judged.judgement.results)
        assert list(fields) == [f"{name[:-1]}workers={level}" for level in levels]
