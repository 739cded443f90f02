"""Who gets which processors, on made-up machines; every expected placement was worked out by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.launchers import local, plain
from fireassay.launchers.support import pinned_worker, processors
from fireassay.launchers.support.processors import Processor, assign, parsed, placed, topology
from fireassay.record.machine import Machine
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.sections.workload import Launcher, Workload
from tests.launchers.helpers import request, run

SAYS = "import os\nos.write(1, f\"{os.environ['LOCAL_RANK']} {sorted(os.sched_getaffinity(0))}\\n\".encode())\n"


def machine(nodes: int, cores: int, threads: int) -> list[Processor]:
    """As Linux numbers them: first the first threads of all cores, node by node, then the second ones."""
    total = nodes * cores
    return [Processor(number=thread * total + core, core=core, node=core // cores) for thread in range(threads) for core in range(total)]


TWO_SOCKETS = machine(nodes=2, cores=4, threads=2)  # node 0: 0-3 and 8-11, node 1: 4-7 and 12-15
DESKTOP = machine(nodes=1, cores=4, threads=1)


@pytest.mark.parametrize(
    ("how", "workers", "most", "expected"),
    [
        ("compact", 2, 8, [(0, 8), (1, 9)]),  # neighbours, each a whole core
        ("spread", 2, 8, [(0, 8), (4, 12)]),  # one on each socket
        ("spread", 4, 8, [(0, 8), (4, 12), (1, 9), (5, 13)]),
        ("compact", 4, 4, [(0, 1, 8, 9), (2, 3, 10, 11), (4, 5, 12, 13), (6, 7, 14, 15)]),
        ("spread", 1, 4, [(0, 1, 8, 9)]),  # the share of the largest level, inside one node
        ("spread", 2, 2, [(0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)]),
        ("spread", 1, 1, [tuple(range(16))]),
        ("compact", 3, 16, [(0,), (8,), (1,)]),  # more workers than cores: threads of one core are neighbours
        ("spread", 3, 16, [(0,), (4,), (1,)]),  # and in spread the last to be used
    ],
)
def test_on_two_sockets_with_two_threads_per_core(how: str, workers: int, most: int, expected: list[tuple[int, ...]]) -> None:
    assert list(assign(TWO_SOCKETS, workers, most, how)) == expected


def test_on_one_node_without_threads_both_ways_are_the_same() -> None:
    for how in ("spread", "compact"):
        assert assign(DESKTOP, 2, 4, how) == ((0,), (1,))
        assert assign(DESKTOP, 3, 3, how) == ((0,), (1,), (2,))  # the fourth is left to assay and the engine


def test_only_usable_processors_are_given_and_their_cores_are_seen_in_part() -> None:
    """A container with processors 1, 9 and 5: core 1 whole, core 5 with one thread."""
    usable = [one for one in TWO_SOCKETS if one.number in (1, 9, 5)]
    assert assign(usable, 2, 2, "compact") == ((1, 9), (5,))
    assert assign(usable, 3, 3, "spread") == ((1,), (5,), (9,))


def test_fewer_processors_than_workers_are_an_error() -> None:
    with pytest.raises(ValueError, match="4 processors for 5 workers"):
        assign(DESKTOP, 1, 5, "spread")


@given(
    nodes=st.integers(1, 4),
    cores=st.integers(1, 8),
    threads=st.integers(1, 2),
    most=st.integers(1, 12),
    workers=st.integers(1, 12),
    how=st.sampled_from(["spread", "compact"]),
)
def test_no_processor_is_given_twice_and_every_worker_gets_as_many_at_every_level(
    nodes: int, cores: int, threads: int, most: int, workers: int, how: str
) -> None:
    there = machine(nodes, cores, threads)
    if len(there) < most or workers > most:
        return
    given_out = assign(there, workers, most, how)
    flat = [number for own in given_out for number in own]
    assert len(flat) == len(set(flat))
    assert len(given_out) == workers
    assert {len(own) for own in given_out} == {len(assign(there, most, most, how)[0])}


# ---- reading the machine -----------------------------------------------------------------------------------------------


def plant(root: Path, files: dict[str, str]) -> Machine:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Machine(root=root, environ={}, folder=root)


def test_lists_are_read_as_the_kernel_writes_them() -> None:
    assert parsed("0-3,8,10-11\n") == [0, 1, 2, 3, 8, 10, 11]
    with pytest.raises(ValueError, match="invalid literal"):
        parsed("")


def test_cores_and_nodes_come_from_sys(tmp_path: Path) -> None:
    cpu, node = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", "sys/devices/system/node/node{}/cpulist"
    made = plant(
        tmp_path,
        {
            cpu.format(0): "0,2\n",
            cpu.format(2): "0,2\n",
            cpu.format(1): "1,3\n",
            node.format(0): "0,2\n",
            node.format(1): "1,3\n",
            node.format(2): "\n",
        },
    )
    assert topology(made, {0, 1, 2, 7}) == (
        Processor(number=0, core=0, node=0),
        Processor(number=1, core=1, node=1),
        Processor(number=2, core=0, node=0),
        Processor(number=7, core=7, node=0),  # of which the kernel tells nothing
    )


# ---- asking for it -----------------------------------------------------------------------------------------------------


def experiment(levels: Sequence[int] = (1, 2), **settings: object) -> Experiment:
    return Experiment(
        name="x",
        workload=Workload(script="train.py"),
        factor=Factor(levels=tuple(levels)),
        launcher=Launcher(**settings),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("launcher", [local, plain])
def test_more_workers_than_processors_are_refused(launcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    with pytest.raises(SpecError, match='launcher.pin: found "spread" with 4 workers on 2 processors'):
        launcher.check(experiment((1, 4), kind=launcher.__name__.rpartition(".")[2], pin="spread"))
    launcher.check(experiment((1, 2), kind=launcher.__name__.rpartition(".")[2], pin="spread"))


def test_memory_without_processors_is_refused() -> None:
    with pytest.raises(SpecError, match='launcher.numa: found "local" with launcher.pin = "none"'):
        processors.check(experiment(numa="local"))


def test_a_system_without_affinity_or_memory_policies_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned_worker, "may_prefer_memory", lambda: "the kernel forbids it")
    with pytest.raises(EnvironmentLacks, match="is not available here: the kernel forbids it"):
        processors.check(experiment((1,), pin="compact", numa="local"))
    monkeypatch.delattr(os, "sched_getaffinity")
    with pytest.raises(EnvironmentLacks, match="launcher.pin needs Linux"):
        processors.check(experiment((1,), pin="compact"))


def test_the_placement_tells_threads_processors_and_memory(tmp_path: Path) -> None:
    node = "sys/devices/system/node/node{}/cpulist"
    made = plant(tmp_path, {node.format(0): "0-1", node.format(1): "2-3"})
    asked = request(tmp_path, "", workers=2, settings=Launcher(pin="spread", numa="local", threads_per_worker=3))
    assert placed(asked, made, {0, 1, 2, 3}) == {
        "threads_per_worker": 3,
        "pin": "spread",
        "processors": [[0, 1], [2, 3]],
        "memory": [[0], [1]],
    }
    assert placed(replace(asked, most_workers=4), made, {0, 1, 2, 3})["processors"] == [[0], [2]]
    assert placed(replace(asked, settings=Launcher()), made, {0}) == {"threads_per_worker": 1, "pin": "none"}


def test_several_nodes_share_out_only_their_own_workers(tmp_path: Path) -> None:
    settings = Launcher(pin="compact", nodes=2, rendezvous_endpoint="host:1")
    asked = request(tmp_path, "", workers=4, settings=settings)
    assert placed(asked, Machine(root=tmp_path), {0, 1, 2, 3})["processors"] == [[0, 1], [2, 3]]


def test_without_pinning_the_commands_are_as_before(tmp_path: Path) -> None:
    asked = request(tmp_path, "", workers=2)
    assert processors.entry(asked) == []
    assert pinned_worker.__file__ not in local.command(asked, with_torch=True)


def test_torchrun_is_given_the_entry_in_the_scripts_place(tmp_path: Path) -> None:
    asked = request(tmp_path, "", workers=1, arguments=("--x", "1"), settings=Launcher(pin="compact"))
    words = local.command(asked, with_torch=True)
    place = words.index(pinned_worker.__file__)
    assert words[place - 3 : place] == ["--monitor-interval", "0.1", "--"]
    assert json.loads(words[place + 1])["processors"] == [sorted(os.sched_getaffinity(0))]
    assert words[place + 3 :] == ["-u", str(asked.script), "--x", "1"]


# ---- doing it ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_unmodified_workers_run_on_their_own_processors(tmp_path: Path) -> None:
    asked = request(tmp_path, SAYS, workers=2, settings=Launcher(kind="plain", pin="spread"))
    assert run(plain, asked).exit_code == 0
    told = dict(line.split(" ", 1) for line in asked.log.read_text().splitlines())
    expected = plain.describe(asked)["processors"]
    assert told == {str(rank): str(own) for rank, own in enumerate(expected)}  # type: ignore[arg-type, var-annotated]
    assert told["0"] != told["1"]


def test_the_preferred_memory_survives_into_the_script(tmp_path: Path) -> None:
    if why := pinned_worker.may_prefer_memory():
        pytest.skip(why)
    reads = (
        "import ctypes, sys\nsys.path.insert(0, sys.argv[1])\n"
        "mode = ctypes.c_int()\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.syscall(ctypes.c_long(int(sys.argv[2])), ctypes.byref(mode), None, ctypes.c_ulong(0), None, ctypes.c_ulong(0))\n"
        "print(mode.value)\n"
    )
    import platform

    number = str(pinned_worker.SYSTEM_CALLS[platform.machine()][1])
    settings = Launcher(kind="plain", pin="compact", numa="local")
    asked = request(tmp_path, reads, arguments=(str(tmp_path), number), settings=settings)
    assert run(plain, asked).exit_code == 0
    assert int(asked.log.read_text()) in (pinned_worker.PREFERRED, pinned_worker.PREFERRED_MANY)


def test_nodes_are_bits_of_words() -> None:
    assert list(pinned_worker.nodemask([0, 3])) == [0b1001]
    assert list(pinned_worker.nodemask([64])) == [0, 1]
