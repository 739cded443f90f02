"""Is what ping and iperf3 say read as it stands, and everything that is missing told with the line that mends it?"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from fireassay.instruments import network_probe
from fireassay.instruments.network_probe import Answer, Echo, Lack, Stream, Target

HERE = Path(__file__).parents[1] / "golden" / "network"
WHERE = Target(host="node1")


def said(name: str) -> str:
    return (HERE / name).read_text()


def answers(out: str = "", err: str = "", code: int | None = 0):  # type: ignore[no-untyped-def]
    return lambda *_: Answer(code=code, out=out, err=err)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_probe.shutil, "which", lambda tool: f"/usr/bin/{tool}")


# ---- ping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sent", "times"),
    [
        ("ping_ok.txt", 5, (0.421e-3, 0.040e-3, 0.048e-3, 0.043e-3, 0.053e-3)),
        ("ping_unreachable.txt", 2, ()),
        ("ping_busybox.txt", 3, (0.310e-3, 0.120e-3)),
        ("ping_macos.txt", 2, (0.445e-3,)),
    ],
)
def test_round_trips_are_those_that_ping_printed(name: str, sent: int, times: tuple[float, ...]) -> None:
    found = network_probe.parse_ping(said(name))
    assert found is not None
    assert (found.by, found.sent) == ("ping", sent)
    assert found.seconds == pytest.approx(times)


@pytest.mark.parametrize("text", ["", "garbage", "0 packets transmitted, 0 received"])
def test_a_ping_that_sent_nothing_is_none(text: str) -> None:
    assert network_probe.parse_ping(text) is None


def test_a_ping_that_may_not_open_its_socket_says_how_it_could() -> None:
    found = network_probe.ping("10.0.0.1", tool=answers(err="ping: socktype: SOCK_RAW\nping: socket: Operation not permitted\n", code=2))
    assert isinstance(found, Lack)
    assert "Operation not permitted" in found.why
    assert "ping_group_range" in found.mend


def test_no_way_there_is_an_echo_without_answer_and_its_reason() -> None:
    found = network_probe.ping("10.0.0.1", count=4, tool=answers(err="ping: connect: Network is unreachable\n", code=2))
    assert found == Echo(by="ping", sent=4, seconds=(), why="connect: Network is unreachable")


def test_a_missing_ping_is_told_and_connections_are_timed_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_probe.shutil, "which", lambda _: None)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        lack, found = network_probe.echo(Target(host="localhost", port=server.getsockname()[1]), "127.0.0.1", count=3)
    assert isinstance(lack, Lack)
    assert lack.mend == "apt-get install iputils-ping"
    assert isinstance(found, Echo)
    assert (found.by, len(found.seconds)) == ("connect", 3)


def test_a_refusal_is_an_answer() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        found = network_probe.connect("127.0.0.1", server.getsockname()[1], count=2)
    assert len(found.seconds) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's ping")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [("3 packets transmitted, 3 received\ntime=0.030 ms", True), ("3 packets transmitted, 0 received, +3 errors", False)],
)
def test_a_packet_of_the_interfaces_size_arrives_or_not(text: str, wanted: bool) -> None:
    asked: list[list[str]] = []

    def tool(words: list[str], *_: object) -> Answer:
        asked.append(words)
        return Answer(code=0, out=text, err="")

    assert network_probe.unbroken("10.0.0.1", 1500, tool=tool) is wanted
    assert asked[0][asked[0].index("-s") + 1] == "1472"  # 1500 less 20 of IPv4 and 8 of ICMP


# ---- iperf3 ------------------------------------------------------------------------------------------------------


def test_a_stream_is_what_iperf3_measured() -> None:
    found = network_probe.parse_iperf3(said("iperf3_forward.json"), WHERE)
    assert isinstance(found, Stream)
    assert found.sent == pytest.approx(9598236147.968155 / 8)
    assert found.received == pytest.approx(2400321536 / 2.004394, rel=1e-6)  # its own bytes over its own seconds
    assert (found.again, found.rtt_s) == (949, pytest.approx(217e-6))
    assert found.host_busy == pytest.approx(0.33316552)


def test_the_way_back_is_what_arrived_here() -> None:
    found = network_probe.parse_iperf3(said("iperf3_reverse.json"), WHERE)
    assert isinstance(found, Stream)
    assert found.received == pytest.approx(2424700928 / 2.000106, rel=1e-6)
    assert found.again == 147


def test_a_host_without_a_server_is_told_how_to_start_one() -> None:
    found = network_probe.parse_iperf3(said("iperf3_refused.json"), WHERE)
    assert found == Lack(what="iperf3", why="no iperf3 server answers at node1, port 5201", mend="start `iperf3 -s` on node1")
    found = network_probe.parse_iperf3(said("iperf3_refused.json"), Target(host="node1", port=7000))
    assert isinstance(found, Lack)
    assert found.mend == "start `iperf3 -s -p 7000` on node1"


def test_a_busy_server_is_not_a_missing_one() -> None:
    found = network_probe.parse_iperf3(said("iperf3_busy.json"), WHERE)
    assert isinstance(found, Lack)
    assert "busy with another test" in found.why


def test_a_busy_server_is_asked_again_before_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(network_probe.time, "sleep", slept.append)
    answers_in_turn = iter(["iperf3_busy.json", "iperf3_busy.json", "iperf3_forward.json"])
    found = network_probe.stream(WHERE, "10.0.0.1", tool=lambda *_: Answer(code=0, out=said(next(answers_in_turn)), err=""))
    assert isinstance(found, Stream)
    assert slept == list(network_probe.BUSY_S)
    always = network_probe.stream(WHERE, "10.0.0.1", tool=answers(out=said("iperf3_busy.json")))
    assert isinstance(always, Lack)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "[]",
        "{}",
        '{"end": {}}',
        '{"end": {"sum_sent": {"bits_per_second": "fast"}, "sum_received": {}}}',
        "null",
        '{"end": {"sum_sent": {"bits_per_second": -1}, "sum_received": {"bits_per_second": 1}}}',
        '{"end": []}',
        "\ufffd\x00",
        '{"end": {"sum_sent": {"bits_per_second": NaN}, "sum_received": {"bits_per_second": 1}}}',
    ],
)
def test_what_is_no_report_is_a_lack_and_never_a_number(text: str) -> None:
    found = network_probe.parse_iperf3(text, WHERE)
    assert isinstance(found, Lack)
    assert "cannot be parsed" in found.why


def test_a_system_that_does_not_count_retransmissions_says_none() -> None:
    text = said("iperf3_forward.json").replace('"retransmits"', '"other"').replace('"mean_rtt"', '"another"')
    found = network_probe.parse_iperf3(text, WHERE)
    assert isinstance(found, Stream)
    assert (found.again, found.rtt_s) == (None, None)


def test_a_missing_iperf3_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_probe.shutil, "which", lambda _: None)
    found = network_probe.stream(WHERE, "10.0.0.1")
    assert isinstance(found, Lack)
    assert "apt-get install iperf3" in found.mend


def test_the_way_back_is_asked_for_with_its_flag() -> None:
    asked: list[list[str]] = []

    def tool(words: list[str], *_: object) -> Answer:
        asked.append(words)
        return Answer(code=0, out=said("iperf3_reverse.json"), err="")

    network_probe.stream(Target(host="x", port=7000), "10.0.0.1", reverse=True, seconds=3, tool=tool)
    assert asked == [["iperf3", "-c", "10.0.0.1", "-p", "7000", "-t", "3", "-J", "--connect-timeout", "2000", "-R"]]


def test_an_iperf3_that_never_ends_is_killed_and_told() -> None:
    found = network_probe.stream(WHERE, "10.0.0.1", tool=answers(code=None))
    assert isinstance(found, Lack)
    assert "was killed" in found.why


# ---- running, and where to ---------------------------------------------------------------------------------------


def test_a_tool_that_hangs_is_killed_at_its_limit_or_when_asked_to_stop() -> None:
    hangs = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(1000)"]
    begin = time.monotonic()
    assert network_probe.run(hangs, 1000.0, stopped=lambda: time.monotonic() > begin + 0.2).code is None
    assert network_probe.run(hangs, 0.0).code is None


def test_tools_speak_english_whatever_the_user_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "LANG", "de_DE.UTF-8")
    answer = network_probe.run([sys.executable, "-c", "import os; print(os.environ['LC_ALL'], os.environ['LANG'])"], 30.0)
    assert (answer.code, answer.out) == (0, "C C\n")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("node1", "node1", 5201),
        ("node1:7000", "node1", 7000),
        ("10.0.0.2:1", "10.0.0.2", 1),
        ("::1", "::1", 5201),
        ("[::1]:9", "::1", 9),
        ("fe80::1", "fe80::1", 5201),
    ],
)
def test_a_target_is_a_host_and_perhaps_a_port(text: str, host: str, port: int) -> None:
    found = network_probe.target(text)
    assert (found.host, found.port) == (host, port)


@pytest.mark.parametrize("text", ["", ":", "a b", "node1:", "node1:0", "node1:70000", "node1:x", "a:0", "http://node1", "[::1"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"node1, 10\.0\.0\.2:5202"):
        network_probe.target(text)


def test_the_way_to_this_machine_is_its_loopback() -> None:
    own, interface = network_probe.way("127.0.0.1")
    assert own == "127.0.0.1"
    assert interface.startswith("lo")
