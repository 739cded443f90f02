"""Is a launch of collectives asked for as it should be, refused where it cannot be, and measured for real on two ranks?"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from fireassay.runners import collectives
from fireassay.runners.experiment.progress import planned_seconds
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment, Factor, Launches
from fireassay.spec.load import load
from fireassay.spec.plan import plan
from fireassay.spec.sections.collectives import Collectives
from fireassay.spec.sections.workload import Measure, Workload


def experiment(*, levels: tuple[int, ...] = (2,), launches: int = 1, **asked: object) -> Experiment:
    return Experiment(
        name="comm",
        workload=Workload(runner="collectives", work="calls"),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=launches),
        collectives=Collectives.model_validate(asked),
    )


@pytest.mark.slow
def test_two_ranks_give_a_sealed_record_of_checked_calls(tmp_path: Path, repository: Path) -> None:
    """The example, shortened."""
    example = load(repository / "examples/comm.toml")
    assert example.collectives is not None
    short = {"sizes": ("1K", "64K"), "placement": "both", "seconds": 0.001, "batches": 2, "memory_mib": 1.0}
    path = run(
        example.model_copy(update={"launches": Launches(per_configuration=1), "collectives": example.collectives.model_copy(update=short)}),
        root=tmp_path / "records",
    )
    record = open_record(path)
    assert (record.state, record.sealed) == ("complete", True)
    assert supervisor.marked(f"{path.name}.") == []
    rows = record.table("collectives").filter((pl.col("phase") == "timed") & (pl.col("op") != "barrier"))
    assert set(rows.select("op", "bytes", "in_place", "rank").iter_rows()) == {
        (op, nbytes, place, rank)
        for op, places in (("all_reduce", (1,)), ("all_gather", (0, 1)))
        for nbytes in (1024, 65536)
        for place in places
        for rank in (0, 1)
    }
    assert rows["wrong"].to_list() == [0] * rows.height
    assert (rows["end_ns"] > rows["begin_ns"]).all()
    (engine,) = set(record.table("events").filter(pl.col("kind") == "engine")["detail"])
    assert json.loads(engine)["backend"] == "gloo"
    assert "step" not in set(record.table("events")["kind"])  # nothing was hooked into the worker


def test_a_backend_that_torch_was_not_built_with_is_refused_beforehand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(collectives, "_offers", lambda backend: False)
    with pytest.raises(EnvironmentLacks, match="no backend 'mpi'"):
        collectives.check(experiment(backend="mpi"), tmp_path)


def test_ranks_whose_sums_are_not_exact_in_the_type_are_refused(tmp_path: Path) -> None:
    """bfloat16 holds whole numbers up to 256: 128 ranks can send 1 or 2 each, 129 cannot."""
    collectives.check(experiment(levels=(128,), dtype="bfloat16"), tmp_path)
    with pytest.raises(SpecError, match="at most 128 workers with bfloat16"):
        collectives.check(experiment(levels=(129,), dtype="bfloat16"), tmp_path)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_imported_results_are_not_timed_here(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(SpecError, match="Only imported results of other programs can have this type"):
        collectives.check(experiment(dtype=dtype), tmp_path)


def test_an_interface_that_this_machine_does_not_have_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    asked = experiment()
    wrong = asked.model_copy(update={"workload": asked.workload.model_copy(update={"environment": {"GLOO_SOCKET_IFNAME": "nosuch0"}})})
    with pytest.raises(SpecError, match=r"'nosuch0'; allowed: an interface of this machine: .*lo"):
        collectives.check(wrong, tmp_path)


def test_sizes_that_no_memory_holds_are_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An all_gather out of place holds the part and the whole: 4 x (1 + 1/4) GiB on four workers."""
    asked = experiment(operations=["all_gather"], sizes=["1K", "1G"], placement="out", levels=(2, 4))
    for total, fits in ((5 << 30, True), ((5 << 30) - 1, False)):
        monkeypatch.setattr("psutil.virtual_memory", lambda total=total: SimpleNamespace(total=total))
        if fits:
            collectives.check(asked, tmp_path)
        else:
            with pytest.raises(SpecError, match="4 workers hold 5 GiB"):
                collectives.check(asked, tmp_path)


def test_the_time_that_is_planned_is_that_of_all_cells() -> None:
    """Two sizes of all_gather in two placements and of all_reduce in one: six times 0.5 s, as long again to check, and 5 s to start."""
    asked = experiment(operations=["all_gather", "all_reduce"], sizes=["1K", "1M"], seconds=0.5)
    assert planned_seconds(asked) == pytest.approx(5.0 + 2 * 6 * 0.5)


def test_a_training_may_have_its_links_swept_in_launches_of_their_own() -> None:
    def roles(measure: Measure) -> list[tuple[str, int]]:
        asked = Experiment(
            name="train",
            workload=Workload(script="train.py"),
            factor=Factor(levels=(1, 2, 4)),
            launches=Launches(per_configuration=2),
            measure=measure,
        )
        return [(launch.role, launch.workers) for launch in plan(asked) if launch.role != "timed"]

    assert roles(Measure()) == []
    assert roles(Measure(communication=True)) == [("sweep", 2), ("sweep", 4)]
