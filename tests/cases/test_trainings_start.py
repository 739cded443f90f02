"""Scripts start as under torchrun: with any option, as a module; for those that spawn ranks or cannot meet, the message says what to change."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.instruments import stuck
from fireassay.instruments.hooks.stuck_ranks import STUCK_NS, StuckRank
from fireassay.launchers import local, nodes
from fireassay.launchers.support import fork_client
from fireassay.launchers.support.base import Ending, worker_environment
from fireassay.record.live.progress import Progress
from fireassay.record.unsealed import launch_name
from fireassay.record.writer import StreamWriter
from fireassay.runners.launching.watch import why_failed
from fireassay.spec.flags.experiment import add_flags, experiment_from
from fireassay.spec.flags.of_verb import flags_of
from fireassay.spec.sections.workload import Host, Launcher, file_of
from tests.cases.asked import HERE
from tests.cases.asked import asked as asked_of
from tests.launchers.helpers import request, run

PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/net.py": "from torch import nn\n\nmodel = nn.Linear(4, 1)\n",
    "pkg/train.py": """
import sys
import torch, torch.distributed as dist
from .net import model
dist.init_process_group("gloo")
optimizer = torch.optim.SGD(torch.nn.parallel.DistributedDataParallel(model).parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad(); model(torch.ones(2, 4)).sum().backward(); optimizer.step()
dist.destroy_process_group()
assert sys.argv[1:] == ["--log", "x"], sys.argv
""",
}
# abbreviations of torchrun's own options, ambiguous and not, and words that argparse reads in its own way
OPTIONS = (
    "--log",
    "--n",
    "--max",
    "--start",
    "--node",
    "--m",
    "--no",
    "--r",
    "--t",
    "--role",
    "--help",
    "-m",
    "-h",
    "--",
    "--nnodes=2",
    "@x",
)


def torchrun_reads(words: list[str]) -> Namespace:
    """As torchrun itself does."""
    from torch.distributed.run import get_args_parser

    return get_args_parser().parse_args(words[words.index("torch.distributed.run") + 1 :])


@pytest.mark.torch
@pytest.mark.parametrize("pin", ["none", "compact"])
def test_every_option_of_the_script_reaches_the_script(tmp_path: Path, pin: str) -> None:
    arguments = tuple(word for option in OPTIONS for word in (option, "3"))
    asked = replace(request(tmp_path, "", workers=1, arguments=arguments), settings=Launcher(pin=pin))  # type: ignore[arg-type]
    one, host = torchrun_reads(local.command(asked, with_torch=True, meeting="x")), Host(name="a", address="127.0.0.1")
    assert tuple(one.training_script_args[-len(arguments) :]) == arguments
    assert (one.log_dir, one.nnodes, one.max_restarts, one.role) == ("logs", "1", 0, "default")  # beside the meeting, not the script's
    across = replace(asked, settings=Launcher(kind="nodes", hosts=(host,)))
    assert tuple(torchrun_reads(nodes.engine(across, host, "a:1", "x")).training_script_args) == arguments
    fork = ["torch.distributed.run", *fork_client.script(tmp_path, asked)]
    assert tuple(torchrun_reads(fork).training_script_args[-len(arguments) :]) == arguments


@pytest.mark.torch
def test_a_module_starts_as_a_module(tmp_path: Path) -> None:
    asked = replace(request(tmp_path, "", workers=2, arguments=("--n", "3")), module="pkg.train")
    read = torchrun_reads(local.command(asked, with_torch=True, meeting="x"))
    assert (read.module, read.training_script, read.training_script_args) == (True, "pkg.train", ["--n", "3"])
    pinned = replace(asked, settings=Launcher(pin="compact"), workers=1)
    assert local.command(pinned, with_torch=True, meeting="x")[-6:] == [sys.executable, "-u", "-m", "pkg.train", "--n", "3"]
    assert local.command(asked, with_torch=False)[1:] == ["-u", "-m", "pkg.train", "--n", "3"]


def given_command(*words: str) -> Any:
    parser, flags = ArgumentParser(), flags_of("run")
    add_flags(parser, flags)
    return experiment_from(parser.parse_args(["--workers", "1,2", "--", *words]), flags)


def test_dashes_m_name_a_module_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("pkg/__init__.py", "pkg/train.py", "app/__main__.py", "alone.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("raise SystemExit('nothing may be imported')")
    assert file_of("-m pkg.train", tmp_path) == tmp_path / "pkg/train.py"
    assert file_of("-m app", tmp_path) == tmp_path / "app/__main__.py"
    assert file_of("-m alone", tmp_path) == tmp_path / "alone.py"
    assert file_of("-m json.tool", tmp_path).name == "tool.py"  # of the library, as python -m finds it
    assert file_of("pkg/train.py", tmp_path) == tmp_path / "pkg/train.py"


def test_a_module_is_one_script_with_its_own_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/train.py").touch()
    with pytest.raises(SpecError) as refused:
        given_command("-m", "pkg.tran", "--n", "3")
    assert any('"-m pkg.tran", which does not exist' in problem.found for problem in refused.value.problems) or "pkg.tran" in str(
        refused.value
    )


SPAWNED = """\
Traceback (most recent call last):
  File "/x/train.py", line 17, in <module>
    mp.spawn(main, args=(a.gpus,), nprocs=a.gpus)
  File "/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 340, in spawn
torch.multiprocessing.spawn.ProcessRaisedException:
torch.distributed.DistNetworkError: The server socket has failed to listen: EADDRINUSE, message: address already in use
"""


def test_ranks_that_a_script_spawns_itself_are_named_with_what_to_do() -> None:
    said = why_failed(Ending(exit_code=1), SPAWNED, "log")
    assert "starts ranks of its own" in said
    assert 'int(os.environ["RANK"])' in said
    assert "ranks of its own" not in why_failed(
        Ending(exit_code=1), SPAWNED.replace("EADDRINUSE, message: address already in use", "x"), "log"
    )


# ---- deadlocks -------------------------------------------------------------------------------------------------------


def progress(*steps: int) -> dict[int, Progress]:
    return {
        rank: Progress(pid=1, incarnation=0, steps=made, checkpoints=0, checkpoint_step=-1, updated_ns=0, errno=0)
        for rank, made in enumerate(steps)
    }


class Noted:
    """A rank whose writing thread looks at it."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._writer, self._rank = StreamWriter(folder, f"rank={rank}.inc=0.pid=1", flush_s=3600.0), rank
        self.begin_ns, self.step_number, self.active = 0, 12, True

    def event(self, kind: str, ns: int, duration: int, *, step: int, detail: Any) -> None:
        import json

        self._writer.append("events", (0, ns, duration, "host", self._rank, 0, kind, step, None, json.dumps(detail)))

    def waits(self, *calls: tuple[str, int], inside: str = "", after_ns: int = STUCK_NS + 1) -> None:
        pending = [Namespace(end=None, op=op, nbytes=size, group="0", number=n) for n, (op, size) in enumerate(calls)]
        attached = Namespace(recorder=self, begun=True, inside=inside, now=lambda: after_ns, calls=Namespace(pending=pending))
        looking = StuckRank(attached)
        looking.note()
        looking.note()  # once for each place
        self._writer.close()


def two_ranks(tmp_path: Path) -> tuple[Noted, Noted]:
    folder = tmp_path / "streams" / launch_name(0)
    folder.mkdir(parents=True)
    return Noted(folder, 0), Noted(folder, 1)


def test_ranks_that_wait_in_different_calls_are_told_apart(tmp_path: Path) -> None:
    first, second = two_ranks(tmp_path)
    first.waits(("barrier", 0))
    second.waits(("all_reduce", 8708), inside="backward")
    said = stuck.places(tmp_path, 0, progress(12, 12))
    assert "rank 0 in barrier after 12 steps (at " in said
    assert ", rank 1 in all_reduce of 8,708 bytes of its backward pass after 12 steps (at " in said
    assert "Uneven batches" in said
    assert stuck.places(tmp_path, 0, progress(13, 13)) == ""  # they went on


def test_ranks_in_the_same_call_or_a_short_wait_are_no_deadlock(tmp_path: Path) -> None:
    first, second = two_ranks(tmp_path)
    first.waits(("all_reduce", 4), inside="backward")
    second.waits(("all_reduce", 4), inside="backward")
    assert stuck.places(tmp_path, 0, progress(12, 12)) == ""
    first, second = two_ranks(tmp_path / "short")
    first.waits(("barrier", 0), after_ns=STUCK_NS - 1)
    second.waits(("all_reduce", 4), after_ns=STUCK_NS - 1)
    assert stuck.places(tmp_path / "short", 0, progress(12, 12)) == ""


def test_a_deadlock_is_told_only_if_every_rank_waits_for_others(tmp_path: Path) -> None:
    first, second = two_ranks(tmp_path)
    first.waits(("barrier", 0))
    second.waits(inside="backward")  # the test's own thread runs: it computes
    assert stuck.deadlock(tmp_path, 0, progress(12, 12)) == ""
    first, second = two_ranks(tmp_path / "both")
    first.waits(("barrier", 0))
    second.waits(("all_reduce", 8708), inside="backward")
    said = stuck.deadlock(tmp_path / "both", 0, progress(12, 12))
    assert "rank 0 in barrier after 12 steps (at test_trainings_start.py:" in said
    assert stuck.deadlock(tmp_path / "both", 0, progress(12, 13)) == ""  # rank 1 went on


def test_a_rank_that_ends_before_the_others_is_named() -> None:
    gone = "RuntimeError: [../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1"
    assert "rank 1 ended after 28 steps, others made up to 32" in stuck.left_behind(gone, progress(32, 28))
    assert stuck.left_behind(gone, progress(32, 32)) == ""
    assert stuck.left_behind("ValueError", progress(32, 28)) == ""


# ---- the cases themselves ----------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.torch
@pytest.mark.parametrize("start", ["exec", "fork"])
def test_a_package_with_relative_imports_trains(tmp_path: Path, start: str) -> None:
    (tmp_path / "pkg").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / name).write_text(text)
    asked = request(tmp_path, "", workers=2, arguments=("--log", "x"), environment=worker_environment(os.environ, Launcher(), {}))
    asked = replace(asked, module="pkg.train", script=tmp_path / "pkg/train.py", settings=Launcher(start=start))  # type: ignore[arg-type]
    assert run(local, asked).exit_code == 0, asked.log.read_text()


def failed(capsys: pytest.CaptureFixture[str], script: str, *arguments: str) -> str:
    """What `assay run` says of a script that two workers cannot run; the limit is for a machine that is busy."""
    shutil.copy(HERE / "trainings" / script, script)
    code, said = asked_of(capsys, "run", "--workers", "2", "--launches", "1", "--timeout", "60", "--quiet", "--", script, *arguments)
    assert code == WorkloadError.exit_code
    assert f"{script} failed in launch 1 of 1 (workers=2)" in said
    return said


@pytest.mark.deep
@pytest.mark.torch
def test_a_script_that_spawns_its_ranks_fails_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = failed(capsys, "spawned.py", "2")
    assert (
        "the script starts ranks of its own (torch.multiprocessing) inside each of assay's workers. Let assay start them: where RANK"
        in said
    )
    assert 'int(os.environ["RANK"]) and int(os.environ["WORLD_SIZE"]) instead of spawning. Or time it as a command: assay time --' in said


@pytest.mark.deep
@pytest.mark.torch
def test_a_stream_that_ends_early_on_one_rank_fails_with_where_each_rank_waits_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rank 0 has 6 batches of 16 for 8: its barrier meets the all-reduce of 4 weights and a bias, 20 bytes."""
    monkeypatch.chdir(tmp_path)
    said = failed(capsys, "uneven_stream.py")
    assert "rank 0 in barrier after 6 steps (at uneven_stream.py:26 " in said
    assert ", rank 1 in all_reduce of 20 bytes of its backward pass after 6 steps (at uneven_stream.py:24 " in said
    assert "Uneven batches do this. Give every rank equally many batches: " in said
    assert "Raise the limit" not in said
