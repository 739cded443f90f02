"""The mutation matrix: does each field that must be equal refuse when it is not, and does nothing else ever refuse?

One mutation for each field of the catalogue.  Identity and hardware: the comparison is refused and names that field.
Bucketed readings that moved by 1 %, conditions and context: never refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError
from fireassay.verdict.comparison.comparability import differences, differences_now, refusing
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.conditions.catalogue import CONDITIONS
from tests.tiers import some
from tests.verdict.comparing import complete, side, with_experiment, with_manifest, with_tables

pytestmark = pytest.mark.slow


Mutate = Callable[[Side], Side]
BEFORE = "environment/before"
GPU = f"{BEFORE}/gpu/nvidia/devices/0"


@pytest.fixture(scope="module")
def base() -> Side:
    return side("A", complete())


def asked(path: str, value: Any) -> Mutate:
    return lambda one: with_experiment(one, "B", path, value)


def machine(path: str, value: Any) -> Mutate:
    return lambda one: with_manifest(one, "B", path if path.startswith("environment") else f"{BEFORE}/{path}", value)


def rows(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Mutate:
    return lambda one: with_tables(one, "B", **{table: change(one.measured.tables[table])})


def told(what: str, factor: float) -> Mutate:
    scaled = pl.when(pl.col("what") == what).then(pl.col("value") * factor).otherwise(pl.col("value"))
    return rows("fingerprints", lambda frame: frame.with_columns(value=scaled))


def resigned(metric: str, tag: str, other: str) -> Mutate:
    """The metric is computed in another way."""

    def change(one: Side) -> Side:
        from dataclasses import replace

        from fireassay.estimates.estimate import Estimate

        values = {
            name: replace(value, signature=value.signature.replace(tag, other)) if isinstance(value, Estimate) else value
            for name, value in one.judgement.results[metric].items()
        }
        results = {**one.judgement.results, metric: values}
        return replace(one, label="B", judgement=replace(one.judgement, results=results))

    return change


def other_program(one: Side) -> Side:
    """Neither side has a digest, so that the script's name decides."""
    return with_experiment(with_manifest(one, "B", f"{BEFORE}/script/sha256", None), "B", "workload.script", "other.py")


IDENTITY: Mapping[str, Mutate] = {
    "workload.script_sha256": machine("script/sha256", "cd" * 32),
    "workload.arguments": asked("workload.arguments", ("--lr", "0.1")),
    "workload.steps": asked("workload.steps", 200),
    "workload.work": asked("workload.work", "tokens"),
    "workload.environment.*": asked("workload.environment", {"NCCL_ALGO": "Tree"}),
    "conditions.*": asked("conditions", {"precision": "bf16"}),
    "data.content": machine("data", ["1 file, 8 bytes, 0123456789abcdef"]),
    "data.version": asked("data", {"version": "v2"}),
    "data.split": asked("data", {"split": "test"}),
    "factor.levels": asked("factor.levels", (8, 16)),
    "scaling.mode": asked("scaling.mode", "weak"),
    "scaling.base": asked("scaling.base", 2),
    "scaling.time": asked("scaling.time", "wall"),
    "quality.metric": asked("quality.metric", "f1"),
    "quality.direction": asked("quality.direction", "lower"),
    "quality.margin": asked("quality.margin", 0.2),
    "launcher.kind": asked("launcher.kind", "plain"),
    "launcher.threads_per_worker": asked("launcher.threads_per_worker", 2),
    "launcher.pin": asked("launcher.pin", "spread"),
    "launcher.start": asked("launcher.start", "fork"),
    "launcher.numa": lambda one: with_experiment(with_experiment(one, "B", "launcher.pin", "spread"), "B", "launcher.numa", "local"),
    "launcher.nodes": lambda one: with_experiment(
        one,
        "B",
        "launcher",
        {**one.measured.experiment.launcher.model_dump(), "nodes": 2, "rendezvous_endpoint": "a:1", "rendezvous_id": "x"},
    ),
    "energy.source": asked("energy.source", "none"),
    "metrics.definitions": resigned("throughput", "|v:1", "|v:2"),
    "flops.convention": resigned("flops_per_step", "conv:counter", "conv:palm"),
    "flops.peak": resigned("mfu", "peak:datasheet", "peak:measured"),
    "dataset.size": told("dataset_size", 2.0),
    "model.parameters": told("parameters", 2.0),
    "batch.items_per_step.*": rows("steps", lambda frame: frame.with_columns(items=pl.col("items") * 2.0)),
    "evaluation.examples": rows("examples", lambda frame: frame.with_columns(example=pl.col("example") + "x")),
    "samples.set": rows("samples", lambda frame: frame.with_columns(ids=pl.col("ids").list.eval(pl.element() + 1000))),
}
HARDWARE: Mapping[str, Mutate] = {
    "cpu.model": machine("cpu/model", "Xeon"),
    "cpu.usable": machine("cpu/usable/count", 4),
    "allocation.image_id": machine("allocation/image_id", "lab/train@sha256:34"),
    "cpu.smt": machine("cpu/smt", "on"),
    "cpu.numa_nodes": machine("cpu/numa", [{"node": 0}, {"node": 1}]),
    "host.machine": machine("host/machine", "aarch64"),
    "memory.total_bytes": machine("memory/total_bytes", 128_000_000_000),
    "gpu.models": machine(f"{GPU}/name", "A100"),
    "gpu.count": machine("gpu/nvidia/devices", [{"name": "H200", "memory_bytes": 150e9}, {"name": "H200", "memory_bytes": 150e9}]),
    "gpu.memory_bytes": machine(f"{GPU}/memory_bytes", 80_000_000_000),
    "gpu.driver": machine("gpu/nvidia/driver", "580.0"),
    "host.kernel": machine("host/kernel", "6.2.0"),
    "host.virtualisation": machine("host/virtualisation", "QEMU"),
    "host.container": machine("host/container", ["/.dockerenv"]),
    "cgroup.cpu_quota": machine("cgroup/cpu_quota", {"limit": "processors", "processors": 2.0}),
    "cgroup.memory_limit": machine("cgroup/memory_limit", {"limit": "bytes", "bytes": 1 << 30}),
    "software.python": machine("software/python/version", "3.12.0"),
    "software.torch.version": machine("software/torch/version", "2.7.0"),
    "software.torch.cuda": machine("software/torch/cuda", "12.6"),
    "software.packages.*": machine("software/packages/numpy", "1.26.0"),
}
HARMLESS: Mapping[str, Mutate] = {
    "memory 1 % less": machine("memory/total_bytes", 63_360_000_000),
    "memory 1 % more": machine("memory/total_bytes", 64_640_000_000),
    "GPU memory 1 % less": machine(f"{GPU}/memory_bytes", 148_500_000_000),
    "clock 1 % lower": machine(f"{GPU}/sm_clock_max_mhz", 1960),
    "clock 1 % higher": machine(f"{GPU}/sm_clock_max_mhz", 2000),
    "patch of the kernel": machine("host/kernel", "6.1.45-amd64"),
    "patch of Python": machine("software/python/version", "3.11.9"),
    "other packages": machine("software/packages/rich", "14.0"),
    "uptime": machine("host/uptime_s", 5.0),
    "host name": machine("host/name", "bench-02"),
    "operating system": machine("host/os", "Debian 13"),
    "governor": machine("cpu/governors", ["powersave"]),
    "ASLR": machine("host/aslr", "off"),
    "load": machine("noise/load/1min", 7.0),
    "steal": machine("environment/after/noise/cpu_ticks", {"user": 2000, "idle": 1500, "steal": 500}),
    "pressure on processors": machine("environment/after/noise/pressure_cpu", {"some_us": 50_000_000}),
    "pressure on memory": machine("environment/after/noise/pressure_memory", {"some_us": 50_000_000}),
    "pressure on input and output": machine("environment/after/noise/pressure_io", {"some_us": 50_000_000}),
    "power limit": machine(f"{GPU}/power_limit_w", 400.0),
    "temperature": machine(f"{GPU}/temperature_c", 85),
    "doctor": machine("doctor/noise_floor", 0.2),
    "inherited variables": machine("workload/variables", {"LANG": "de_DE"}),
    "git commit": machine("workload/git/commit", "4567"),
    "git branch": machine("workload/git/branch", "other"),
    "git dirty": machine("workload/git/dirty", True),
    "executable": machine("software/python/executable", "python3"),
    "date": lambda one: with_manifest(one, "B", "created_utc", "2027-01-01T00:00:00Z"),
    "name": lambda one: with_manifest(one, "B", "name", "other"),
    "assay's version": lambda one: with_manifest(one, "B", "assay_version", "9.9"),
    "prices": asked("prices.usd_per_worker_hour", 2.0),
    "seed": asked("launches.seed", 3),
    "gates": asked("gates.efficiency", 0.5),
    "a further level": asked("factor.levels", (1, 2, 4)),
    "processors numbered otherwise": machine("cpu/usable", {"count": 8, "processors": list(range(8, 16))}),
}
# Read from a part that training has not, or decided by another field; each has a test of its own below,
# that of files in tests/runners/experiment/test_script.py.
ELSEWHERE = {"workload.runner", "workload.script", "workload.files.*", "warm_up.trials", "factor.name"}
# test_serving_comparability.py, test_collectives.py, tests/kinds/calls/test_conditions.py, tests/kinds/evaluation/test_conditions.py and test_between.py
OF_LOADS = ("serving.", "engine.", "engines.", "foreign.", "collectives.", "calls.", "evaluation.", "quality.max_flip_rate")


def test_records_of_two_kinds_differ_in_that_alone_and_no_flag_compares_them(base: Side) -> None:
    command = asked("workload.runner", "command")(base)
    for made in (compare([base, command]), compare([base, command], varying=["workload.runner"], force=True)):
        [kind] = made.refused
        assert (made.state, kind.field, kind.values) == ("incomparable", "kind", ("a training", "calls of a command or a function"))
        assert made.mismatches == made.refused


def test_every_field_that_refuses_has_its_mutation() -> None:
    wanted = {c.name for c in CONDITIONS if c.kind in ("identity", "hardware") and not c.name.startswith(OF_LOADS)}
    assert wanted - {*IDENTITY, *HARDWARE} == ELSEWHERE


@pytest.mark.parametrize("field", [*IDENTITY, *HARDWARE])
def test_one_mutated_field_refuses_and_is_named(base: Side, field: str) -> None:
    mutated = {**IDENTITY, **HARDWARE}[field](base)
    made = compare([base, mutated])
    named = [mismatch.field for mismatch in made.refused]
    assert made.state == "incomparable"
    assert any(name == field or name.startswith(field.removesuffix("*")) for name in named), named
    assert named[0] in made.sentence
    by_flag = [mismatch for mismatch in made.refused if mismatch.field != "configurations"]  # no flag makes two of them one
    assert all(mismatch.override and len(set(mismatch.values)) == 2 and mismatch.why for mismatch in by_flag)


@pytest.mark.parametrize("what", some(HARMLESS, 12))
def test_readings_conditions_and_context_never_refuse(base: Side, what: str) -> None:
    made = compare([base, HARMLESS[what](base)])
    assert (made.state, made.refused) == ("compared", ())


# Without a level in common nothing is left to compare, whatever is declared.
@pytest.mark.parametrize("field", some([name for name in (*IDENTITY, *HARDWARE) if name != "factor.levels"], 8))
def test_the_named_field_declared_as_studied_lets_the_comparison_go_on(base: Side, field: str) -> None:
    mutated = {**IDENTITY, **HARDWARE}[field](base)
    refused = refusing(differences([base, mutated]))
    made = compare([base, mutated], varying=[mismatch.field for mismatch in refused])
    assert made.state in ("compared", "nothing_measured")
    assert all(mismatch.declared for mismatch in made.mismatches if mismatch.refuses)


@pytest.mark.parametrize(
    ("path", "refused"), [("script/sha256", ["workload.script_sha256", "workload.script"]), ("cpu/model", []), ("gpu/nvidia/driver", [])]
)
def test_what_only_one_side_recorded_refuses_for_identity_and_is_a_note_for_hardware(base: Side, path: str, refused: list[str]) -> None:
    found = differences([base, with_manifest(base, "B", f"{BEFORE}/{path}", None)])
    assert found
    assert [mismatch.field for mismatch in refusing(found)] == refused


def test_without_a_digest_the_scripts_name_decides(base: Side) -> None:
    nameless = with_manifest(base, "A", f"{BEFORE}/script/sha256", None)
    assert [m.field for m in refusing(differences([nameless, other_program(base)]))] == ["workload.script"]


def test_an_unknown_studied_condition_is_an_error_that_names_the_closest(base: Side) -> None:
    with pytest.raises(SpecError, match=r"Did you mean .*--varying workload\.arguments"):
        differences([base, base], ["workload.argumnts"])


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("code", "workload.script_sha256"),
        ("script", "workload.script_sha256"),
        ("machine", "cpu.model"),
        ("machine", "gpu.models"),
        ("software", "software.torch.version"),
        ("software", "host.kernel"),
        ("arguments", "workload.arguments"),
        ("launcher", "launcher.pin"),
        ("batch", "batch.items_per_step.*"),
        ("engine", "software.packages.*"),
        ("environment", "workload.environment.*"),
        ("dataset", "dataset.size"),
        ("dataset", "data.content"),
        ("data", "data.split"),
        ("workload.environment", "workload.environment.*"),
        ("precision", "conditions.*"),
        ("model", "model.parameters"),
    ],
)
def test_an_alias_or_a_group_declares_its_fields(base: Side, name: str, field: str) -> None:
    mutated = {**IDENTITY, **HARDWARE}[field](base)
    assert refusing(differences([base, mutated], [name])) == ()


def test_declaring_one_condition_does_not_excuse_another(base: Side) -> None:
    mutated = IDENTITY["workload.arguments"](base)
    assert [m.field for m in refusing(differences([base, mutated], ["machine"]))] == ["workload.arguments"]


def test_refusing_mismatches_come_first() -> None:
    base = side("A", complete())
    mutated = HARDWARE["cpu.model"](IDENTITY["workload.arguments"](HARMLESS["governor"](base)))
    kinds = [mismatch.kind for mismatch in differences([base, mutated])]
    assert kinds == ["identity", "hardware", "condition"]


def test_an_environment_of_today_is_compared_before_anything_runs(base: Side) -> None:
    now = machine("cpu/model", "another")(base).measured.before
    assert [(m.field, m.values[1]) for m in differences_now(base.measured, now)] == [("cpu.model", "another")]
    assert differences_now(base.measured, base.measured.before) == ()


def test_a_device_that_is_gone_differs_and_one_that_was_not_recorded_does_not(base: Side) -> None:
    without = {key: value for key, value in base.measured.before.items() if key != "gpu"}
    gone = differences_now(base.measured, without)
    assert {("gpu.count", "not recorded")} <= {(m.field, m.values[1]) for m in gone}
    unknown = with_manifest(base, "B", BEFORE, without).measured
    assert differences_now(unknown, base.measured.before) == ()
