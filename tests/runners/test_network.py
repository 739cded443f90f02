"""Does a round write down what the tools said, for every host, and does a host that is silent cost only itself?"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.instruments import network_probe
from fireassay.instruments.network_probe import Answer
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.runners.network import check, hosts_and_seconds
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches
from fireassay.spec.sections.workload import Noise, Workload

SAID = Path(__file__).parents[1] / "golden" / "network"


def experiment(*words: str, rounds: int = 2) -> Experiment:
    return Experiment(
        name="network",
        workload=Workload(runner="network", script="network", arguments=words),
        factor=Factor(levels=(1,)),
        launches=Launches(per_configuration=rounds),
        gates=Gates(efficiency=None),
        noise=Noise(sentinel_s=0.0),
    )


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that say what was recorded; the host 127.0.0.2 is silent."""

    def answer(words: list[str], *_: object) -> Answer:
        if "127.0.0.2" in words:
            refused = (SAID / "iperf3_refused.json").read_text()
            return Answer(code=1, out="" if words[0] == "ping" else refused, err="ping: connect: Network is unreachable\n")
        name = "ping_ok.txt" if words[0] == "ping" else "iperf3_reverse.json" if "-R" in words else "iperf3_forward.json"
        return Answer(code=0, out=(SAID / name).read_text(), err="")

    monkeypatch.setattr(network_probe.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    for function in (network_probe.ping, network_probe.unbroken, network_probe.stream):
        monkeypatch.setitem(function.__kwdefaults__, "tool", answer)

    def nobody(*_: object, **__: object) -> None:
        raise OSError(113, "No route to host")

    monkeypatch.setattr(network_probe.socket, "create_connection", nobody)


@pytest.mark.usefixtures("tools")
def test_a_round_holds_the_tools_numbers(tmp_path: Path) -> None:
    record = open_record(run(experiment("127.0.0.1"), root=tmp_path))
    assert record.state == "complete"
    rows = record.table("telemetry").filter((pl.col("device") == "to 127.0.0.1") & (pl.col("launch") == 0))
    found = {counter: rows.filter(pl.col("counter") == counter)["value"].to_list() for counter in rows["counter"].unique()}
    assert found["ping_rtt"] == pytest.approx([0.421e-3, 0.040e-3, 0.048e-3, 0.043e-3, 0.053e-3])
    assert (found["ping_sent"], found["ping_answered"]) == ([5.0], [5.0])
    assert found["there_received"] == pytest.approx([2400321536 / 2.004394])
    assert found["back_received"] == pytest.approx([2424700928 / 2.000106])
    assert (found["there_sent_again"], found["back_sent_again"]) == ([949.0], [147.0])
    assert set(record.table("telemetry").filter(pl.col("device") == "net-lo")["counter"]) >= {"received_bytes", "errors"}
    (way, *_) = record.table("events").filter(pl.col("kind") == "network_way")["detail"]
    assert json.loads(way)["interface"].startswith("lo")


@pytest.mark.usefixtures("tools")
def test_a_silent_host_costs_only_itself_and_the_reasons_are_kept(tmp_path: Path) -> None:
    record = open_record(run(experiment("127.0.0.1", "127.0.0.2", rounds=1), root=tmp_path))
    assert record.table("launches")["status"].to_list() == ["ok"]
    lacks = [json.loads(detail) for detail in record.table("events").filter(pl.col("kind") == "network_lack")["detail"]]
    assert {lack["to"] for lack in lacks} == {"127.0.0.2"}
    assert {lack["what"] for lack in lacks} == {"ping", "connect", "iperf3"}


@pytest.mark.usefixtures("tools")
def test_a_job_of_silent_hosts_has_failed(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"none of 127\.0\.0\.2 answered"):
        run(experiment("127.0.0.2", rounds=1), root=tmp_path)


def test_hosts_and_seconds_are_read_from_the_words() -> None:
    targets, seconds = hosts_and_seconds(experiment("a", "b:7000", "seconds=5"))
    assert [target.name for target in targets] == ["a", "b:7000"]
    assert seconds == 5.0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no host"),
        (("a b",), "a host's name or address"),
        (("a", "a"), "every host once"),
        (("a", "seconds=0"), "from 1 to 3600"),
        (("a", "seconds=x"), "from 1 to 3600"),
        (("a:0",), "a host's name or address"),
    ],
)
def test_invalid_arguments_are_refused(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        hosts_and_seconds(experiment(*words))


def test_an_unresolvable_host_is_refused_before_any_record(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nohost\.invalid.*which does not resolve"):
        check(experiment("localhost", "nohost.invalid"), tmp_path)
