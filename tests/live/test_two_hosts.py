"""Do the exchanges between two hosts find the link's latency and bandwidth, in each direction?  On shaped network namespaces."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.metrics import pairs
from assay.metrics.estimate import Estimate
from assay.metrics.measured import Measured
from tests.builders import measured
from tests.launched import Launched, environment
from tests.launchers.namespaces import PAYLOAD, two_hosts, why_not

ROUNDS = 4  # each with connections of its own; they stand for launches here, whose start takes seconds
DELAY_S = 0.010
THERE, BACK = 100.0, 200.0  # Mbit/s
CONFIDENCE = 0.999  # a test that asks for 95 % fails every twentieth time, and here there are two

# Rounds over the shaped link, then some over the delayed one; gloo reads the interface's name when a group is made.
WORKER = """
import datetime, os, sys, time
from pathlib import Path
import torch, torch.distributed as dist
from assay.instruments import pairs
from assay.instruments._sink import Identity, LaunchSink

rank, address, folder, rounds = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
store = dist.TCPStore(address, int(sys.argv[5]), 2, rank == 0, datetime.timedelta(seconds=60))
for number in range(rounds + 3):
    os.environ["GLOO_SOCKET_IFNAME"] = "link0" if number < rounds else "slow0"
    dist.init_process_group("gloo", store=dist.PrefixStore(str(number), store), rank=rank, world_size=2)
    identity = Identity(launch=number, rank=rank, workers=2, incarnation=0, seed=0, host="ab"[rank])
    sink = LaunchSink(folder / str(number), identity, flush_s=1.0)
    large = 3 << 19 if number < rounds else 4096
    plan = pairs.Plan(sizes=(8, large // 4, large), repeats=3, warm_up=1)
    pairs.write(sink, identity, pairs.Wire(torch), plan)
    sink.close()
    dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Measured, Measured]:
    """The rounds over the shaped link, and those over the delayed one."""
    if reason := why_not():
        pytest.skip(reason)
    if not Path("/dev/net/tun").exists():
        pytest.skip("no /dev/net/tun, so no delayed link")
    folder = tmp_path_factory.mktemp("rounds")
    with two_hosts(mbit=THERE, back_mbit=BACK, delay_s=DELAY_S) as hosts:
        port = free_port(hosts[0].prefix)
        processes = [
            subprocess.Popen(
                [*host.prefix, sys.executable, "-c", WORKER, str(rank), hosts[0].address, str(folder), str(ROUNDS), str(port)],
                env=environment(), stderr=subprocess.PIPE, text=True,
            )
            for rank, host in enumerate(hosts)
        ]  # fmt: skip
        try:
            for process in processes:
                _, said = process.communicate(timeout=60)
                assert process.returncode == 0, said
        finally:
            for process in processes:
                process.kill()
                process.wait()
    return read(folder, range(ROUNDS)), read(folder, range(ROUNDS, ROUNDS + 3))


def free_port(prefix: tuple[str, ...]) -> int:
    code = "import socket; s = socket.socket(); s.bind(('', 0)); print(s.getsockname()[1])"
    found = subprocess.run([*prefix, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(found.stdout)


def read(folder: Path, numbers: range) -> Measured:
    """Rounds as the launches of a record of two workers."""
    made = measured(launches=len(numbers), levels=(2,), faults=False, steps=5)
    tables = {}
    for name in ("collectives", "events"):
        parts = [
            Launched(folder / str(number)).table(name).with_columns(pl.lit(place, pl.Int32).alias("launch"))
            for place, number in enumerate(numbers)
        ]
        tables[name] = pl.concat(parts)
    launches = made.experiment.launches.model_copy(update={"confidence": CONFIDENCE})
    experiment = made.experiment.model_copy(update={"launches": launches})
    return replace(made, experiment=experiment, tables={**made.tables, **tables})


def links(record: Measured) -> dict[pairs.Pair, pairs.Link]:
    found = pairs.matrix(record, "workers=2")
    assert isinstance(found, pairs.Matrix)
    assert found.hosts == ("a", "b")
    return {link.pair: link for link in found.links}


@pytest.mark.torch
@pytest.mark.parametrize(("pair", "mbit"), [((0, 1), THERE), ((1, 0), BACK)])
def test_the_bandwidth_of_each_direction_is_the_shaped_one(
    rounds: tuple[Measured, Measured], pair: pairs.Pair, mbit: float
) -> None:
    """The truth is arithmetic: the shaped rate, less the headers that every frame bears."""
    found = links(rounds[0])[pair].bandwidth
    assert isinstance(found, Estimate)
    truth = mbit * 1e6 / 8 * PAYLOAD
    assert found.n_launches == ROUNDS
    assert found.low <= truth <= found.high
    assert abs(found.value / truth - 1) < 0.25  # both ranks, and whatever else runs, share two processors


@pytest.mark.torch
@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_the_latency_holds_the_delay_of_the_link(rounds: tuple[Measured, Measured], pair: pairs.Pair) -> None:
    """No exchange can be quicker than the packets are handed on; what the engine and a busy machine add is less than as much again."""
    slow, quick = links(rounds[1])[pair].latency, links(rounds[0])[pair].latency
    assert isinstance(slow, Estimate)
    assert isinstance(quick, Estimate)
    assert DELAY_S <= slow.value < 2 * DELAY_S
    assert slow.low <= DELAY_S + quick.value <= slow.high


@pytest.mark.torch
def test_everything_arrived_as_it_was_sent(rounds: tuple[Measured, Measured]) -> None:
    assert [link.wrong for record in rounds for link in links(record).values()] == [0, 0, 0, 0]
