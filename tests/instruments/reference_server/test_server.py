"""The reference server: what it says, when it says it, its faults one by one, its truth, and that it leaves nothing behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from fireassay.instruments.reference_server.server import Settings, main, serving
from fireassay.instruments.reference_server.truth import entries
from tests.instruments.raw_client import Raw, served
from tests.limits import PROCESS_S

ECHO = "three one two"  # of the prompt "one two three": its last word first


# ---- what it says ----------------------------------------------------------------------------------------------------


def test_an_answer_repeats_the_prompts_last_words_and_goes_on_to_the_length_asked_for() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(max_tokens=12)
    assert got.text.startswith(ECHO + " ")
    assert len(got.text.split()) == 12
    assert got.finish == ["length"]
    assert got.events[-1] == "[DONE]"
    assert got.headers["content-type"].startswith("text/event-stream")


def test_equal_prompts_have_equal_answers_and_another_salt_another_one() -> None:
    with served() as one, served() as two, served(salt="b") as other:
        texts = []
        for server in (one, one, two, other):
            with Raw(server.url) as client:
                texts.append(client.ask(max_tokens=40).text)
    assert texts[0] == texts[1] == texts[2] != texts[3]


def test_completions_and_chat_say_the_same_in_their_own_form_streamed_or_not() -> None:
    with served() as server, Raw(server.url) as client:
        found = [
            client.ask(path=path, stream=stream, max_tokens=9)
            for path in ("/v1/chat/completions", "/v1/completions")
            for stream in (True, False)
        ]
    assert len({got.text for got in found}) == 1
    assert [got.status for got in found] == [200] * 4
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    assert [got.usage for got in found] == [None, usage, None, usage]


@pytest.mark.parametrize(
    ("usage", "asks", "told"), [("asked", True, True), ("asked", False, False), ("always", False, True), ("never", True, False)]
)
def test_usage_is_told_as_the_settings_say(usage: str, asks: bool, told: bool) -> None:
    with served(usage=usage) as server, Raw(server.url) as client:
        got = client.ask(stream_options={"include_usage": asks})
    assert (got.usage is not None) is told


def test_the_forms_of_a_stream() -> None:
    with served(crlf=True, no_done=True, comments=True, tokens_per_chunk=3) as server, Raw(server.url) as client:
        got = client.ask(max_tokens=7)
    texts = [chunk for chunk in got.chunks if b'"content":"' in chunk and b'"role"' not in chunk]
    assert len(texts) == 3  # 3 + 3 + 1 tokens
    assert len(got.text.split()) == 7
    assert b"[DONE]" not in got.body
    assert got.body.count(b": alive\r\n\r\n") == 3
    assert b"\n" not in got.body.replace(b"\r\n", b"")


@pytest.mark.parametrize(("role", "first"), [("with_first", "role"), ("at_once", "role"), ("none", "content")])
def test_the_role_chunk_comes_first_or_not_at_all(role: str, first: str) -> None:
    with served(role=role) as server, Raw(server.url) as client:
        got = client.ask()
        entry = server.log[0]
    assert next(iter(got.events[0]["choices"][0]["delta"])) == first
    assert (entry.first_text, entry.texts) == (1 if role == "at_once" else 0, 4)
    assert len(entry.sent_ns) == entry.first_text + 5  # four texts and the tail


def test_an_answer_in_one_piece() -> None:
    with served(flush_all=True) as server, Raw(server.url) as client:
        got = client.ask()
        assert len(server.log[0].sent_ns) == 1
    assert len(got.text.split()) == 4


def test_an_answer_that_begins_with_the_requests_number() -> None:
    with served(numbered=True) as server, Raw(server.url) as client:
        assert [client.ask().text.split()[:2] for _ in range(2)] == [["r0", "three"], ["r1", "three"]]


def test_text_that_is_not_ascii_is_echoed_whole() -> None:
    with served() as server, Raw(server.url) as client:
        assert client.ask("größe 日本 🙂").text.split()[:3] == ["🙂", "größe", "日本"]
        client.bytes(rb'{"messages": [{"role": "user", "content": "half \ud83d"}], "max_tokens": 2}')
        assert client.receive().text.split() == ["?", "half"]


def test_the_other_addresses() -> None:
    with served(model="tiny") as server, Raw(server.url) as client:
        client.ask()
        bodies = {}
        for path in ("/health", "/v1/models", "/metrics", "/nowhere"):
            client.bytes(b"", path=path, method="GET")
            got = client.receive()
            bodies[path] = (got.status, got.body)
        client.bytes(b"", path="/v1/completions", method="GET")
        assert client.receive().status == 405
    assert bodies["/health"] == (200, b"")
    assert b'"id":"tiny"' in bodies["/v1/models"][1]
    assert b'vllm:generation_tokens_total{model_name="tiny"} 4\n' in bodies["/metrics"][1]
    assert bodies["/nowhere"][0] == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"messages": []}',
        b'{"messages": [{"content": 3}]}',
        b'{"messages": [{"content": "x"}], "max_tokens": 0}',
        b'{"messages": [{"content": "x"}], "n": 2}',
    ],
)
def test_a_body_that_asks_nothing_is_a_400_and_the_connection_lives_on(body: bytes) -> None:
    with served() as server, Raw(server.url) as client:
        client.bytes(body)
        assert client.receive().status == 400
        assert client.ask().status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_no_request_is_refused_and_hung_up(head: bytes) -> None:
    with served() as server, Raw(server.url) as client:
        client.link.sendall(head)
        got = client.receive()
    assert 400 <= got.status < 500


def test_a_request_ahead_of_its_turn_is_refused() -> None:
    with served(first_s=60.0) as server, Raw(server.url) as client:
        client.send()
        while not server.log:
            time.sleep(0.001)
        client.send()
        assert client.receive().ended in ("closed", "reset")
        assert server.log[0].outcome == "invalid"
        assert len(server.log) == 1


def test_a_body_in_pieces_and_one_that_waits_to_be_asked_for() -> None:
    body = b'{"prompt": "a b", "max_tokens": 1}'
    with served() as server, Raw(server.url) as client:
        client.link.sendall(b"POST /v1/completions HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body))
        assert client.link.recv(100).startswith(b"HTTP/1.1 100 ")
        for at in range(len(body)):
            client.link.sendall(body[at : at + 1])
        assert client.receive().text == "b"


def test_a_client_that_wants_no_further_answer_is_hung_up_on() -> None:
    with served() as server, Raw(server.url) as client:
        client.bytes(b'{"prompt": "a"}', path="/v1/completions", connection="close")
        assert client.receive().status == 200
        assert client.link.recv(1) == b""


# ---- when it says it -------------------------------------------------------------------------------------------------


def test_no_piece_is_early_and_the_truth_is_what_a_client_sees() -> None:
    with served(first_s=0.02, next_s=0.005) as server, Raw(server.url) as client:
        before = time.monotonic_ns()
        got = client.ask(max_tokens=6, id="mine")
        (entry,) = server.log
    assert entry.id == "mine"
    assert before <= entry.came_ns <= entry.read_ns
    offsets = [ns - entry.begin_ns for ns in entry.sent_ns] if entry.begin_ns else []
    due = [20_000_000 + 5_000_000 * token for token in (0, 1, 2, 3, 4, 5, 5)]
    assert all(offset >= when for offset, when in zip(offsets, due, strict=True))
    assert list(entry.sent_ns) == sorted(entry.sent_ns)
    assert entry.sent_ns[0] <= got.began_ns
    assert entry.sent_ns[-1] <= got.done_ns
    assert len(entry.text_ns) == 6


def test_the_same_seed_draws_the_same_times() -> None:
    def offsets(seed: int) -> list[int]:
        from fireassay.instruments.reference_server.answers import parse_request
        from fireassay.instruments.reference_server.plans import Planner

        settings = Settings(spread_first_s=0.04, spread_next_s=0.01, seed=seed)
        wanted = parse_request(b'{"prompt": "a", "stream": true, "max_tokens": 5}', chat=False)
        return list(Planner(settings).plan(wanted, 0).offsets)

    assert offsets(1) == offsets(1) != offsets(2)
    assert all(50_000_000 <= offsets(seed)[0] <= 90_000_000 for seed in range(20))
    assert offsets(1) == sorted(offsets(1))


def test_one_slot_serves_one_after_the_other() -> None:
    with served(first_s=0.01, slots=1) as server, Raw(server.url) as one, Raw(server.url) as two:
        one.send()
        two.send()
        assert {one.receive().status, two.receive().status} == {200}
        first, second = server.log
    assert first.begin_ns is not None
    assert second.begin_ns is not None
    assert first.sent_ns[-1] <= second.begin_ns <= second.sent_ns[0] - 10_000_000


def test_a_full_queue_refuses() -> None:
    with served(first_s=60.0, slots=1, queue=1) as server, Raw(server.url) as one, Raw(server.url) as two, Raw(server.url) as three:
        for client, count in ((one, 1), (two, 2)):
            client.send()
            while len(server.log) < count:
                time.sleep(0.001)
        assert three.ask().status == 503
        assert [entry.outcome for entry in server.log] == ["open", "open", "refused"]


@pytest.mark.slow
def test_a_stalled_server_is_silent_and_then_keeps_its_gaps() -> None:
    with served(next_s=0.05, fault=("stall:at=0.02,for=0.3",)) as server, Raw(server.url) as client:
        client.ask(max_tokens=10)
        (entry,) = server.log
    gaps = [after - before for before, after in zip(entry.text_ns, entry.text_ns[1:], strict=False)]
    assert max(gaps) >= 280_000_000
    # nine gaps and the stall are 0.75 s; had all that became due in the stall been sent after it, 0.45 s.  A busy machine may
    # notice a stall late, which shortens it.
    assert entry.begin_ns is not None
    assert entry.text_ns[-1] - entry.begin_ns >= 600_000_000


# ---- its faults ------------------------------------------------------------------------------------------------------


def test_an_error_status_with_its_object() -> None:
    with served() as server, Raw(server.url) as client:
        assert client.ask(fault="status").status == 500
        got = client.ask(fault="status:code=429")
    assert (got.status, got.headers["retry-after"]) == (429, "1")
    assert b'"error"' in got.body


@pytest.mark.parametrize(
    ("fault", "ended", "outcome"), [("close:after=2", ("closed",), "close"), ("reset:after=2", ("reset", "closed"), "reset")]
)
def test_a_stream_that_breaks_off(fault: str, ended: tuple[str, ...], outcome: str) -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault=fault)
        assert server.log[0].outcome == outcome
    assert got.ended in ended
    assert outcome == "reset" or got.text == "three one"
    assert not got.finish


def test_a_reset_is_seen_as_one() -> None:
    with served() as server, Raw(server.url) as client:
        client.send(fault="reset:after=0")
        with pytest.raises(ConnectionResetError):
            client.link.recv(1)


@pytest.mark.parametrize(("after", "text"), [(0, b""), (2, b"three")])
def test_an_answer_that_never_ends(after: int, text: bytes) -> None:
    with served() as server, Raw(server.url) as client:
        client.send(fault=f"hang:after={after}")
        data = client.until_silent()
        assert text in data
        assert bool(data) is bool(after)
        assert server.log[0].outcome == "hang"
        assert server.state()["in_service"] == 1


def test_a_stream_that_ends_without_its_end() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="truncate:after=3")
        assert client.ask().status == 200  # the connection lives on
    assert (got.ended, got.text, got.finish, "[DONE]" in got.events) == ("whole", ECHO, [], False)


def test_an_error_inside_of_a_200() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="error:after=1")
        whole = client.ask(fault="error", stream=False)
    assert (got.status, got.text) == (200, "three")
    assert "error" in got.events[-1]
    assert (whole.status, b'"error"' in whole.body) == (200, True)


def test_garbage_in_the_place_of_chunks() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="garbage:after=1")
        raw = client.ask(fault="utf8:after=0")
    assert sum(isinstance(event, str) for event in got.events) == 3 + 1  # and the end mark
    assert b"\xff\xfe" in raw.body
    with pytest.raises(UnicodeDecodeError):
        raw.body.decode()


def test_text_with_a_script() -> None:
    with served() as server, Raw(server.url) as client:
        assert "<script>" in client.ask(fault="html").text


def test_an_answer_under_another_type() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="content_type:type=text/html")
    assert got.headers["content-type"] == "text/html"
    assert got.text.startswith(ECHO)


def test_a_redirect_to_the_same_place() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="redirect")
    assert (got.status, got.headers["location"]) == (307, "/v1/chat/completions")


@pytest.mark.slow
def test_a_flood_without_a_line_end() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="flood:mib=3")
        assert client.ask().status == 200
    assert len(got.body) > 3 * 2**20
    assert b"\n" not in got.body


def test_a_slow_drip_is_the_same_answer_in_small_pieces() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(fault="drip:bytes=7,gap=0.0001")
        assert got.text == client.ask().text
        assert len(server.log[0].sent_ns) > 50


def test_an_answer_that_takes_three_times_as_long() -> None:
    with served(first_s=0.01) as server, Raw(server.url) as client:
        client.ask(fault="slow:factor=3")
        (entry,) = server.log
    assert entry.begin_ns is not None
    assert entry.sent_ns[0] - entry.begin_ns >= 30_000_000


def test_wrong_usage() -> None:
    with served(usage="always") as server, Raw(server.url) as client:
        more = client.ask(max_tokens=100, fault="usage:factor=1.05").usage
        odd = client.ask(fault="usage:value=-5").usage
        nan = client.ask(fault="usage:value=NaN")
    assert more is not None
    assert odd is not None
    assert more["completion_tokens"] == 105
    assert odd["completion_tokens"] == -5
    assert b'"completion_tokens":NaN' in nan.body


def test_a_shorter_answer() -> None:
    with served() as server, Raw(server.url) as client:
        got = client.ask(max_tokens=10, fault="short:to=0.5")
    assert len(got.text.split()) == 5
    assert got.finish == ["stop"]


def test_an_answer_that_differs_from_a_word_on() -> None:
    with served() as server, Raw(server.url) as client:
        honest, other = (client.ask(max_tokens=12, fault=fault).text.split() for fault in ("", "differ:from=6"))
    assert honest[:6] == other[:6]
    assert all(a != b for a, b in zip(honest[6:], other[6:], strict=True))


def test_another_askers_answer() -> None:
    with served() as server, Raw(server.url) as client:
        first = client.ask("to the first")
        assert client.ask("to the second", fault="duplicate").text == first.text


@pytest.mark.slow
def test_two_askers_get_each_others_answer() -> None:
    with served(first_s=0.2, fault=("swap",)) as server, Raw(server.url) as one, Raw(server.url) as two:
        one.send("code ALPHA")
        while not server.log:
            time.sleep(0.001)
        two.send("code BETA", max_tokens=6)
        texts = one.receive().text, two.receive().text
    assert [text.split()[0] for text in texts] == ["BETA", "ALPHA"]
    assert [len(text.split()) for text in texts] == [6, 4]


def test_a_cache_answers_at_once_and_a_loose_one_answers_wrongly() -> None:
    with served(first_s=0.02, fault=("cache:words=2",)) as server, Raw(server.url) as client:
        first = client.ask("same begin ALPHA")
        assert client.ask("same begin BETA").text == first.text
        assert client.ask("other begin").text != first.text
        took = [entry.sent_ns[0] - (entry.begin_ns or 0) >= 20_000_000 for entry in server.log]
    # the second was due at once; only that it need not wait is sure on a busy machine
    assert took[0]
    assert took[2]


@pytest.mark.slow
def test_faults_strike_by_number_share_and_crowd() -> None:
    with served(fault=("status:code=500,every=3", "status:code=429,requests=1+3"), first_s=0.0) as server, Raw(server.url) as client:
        assert [client.ask().status for _ in range(6)] == [200, 429, 500, 429, 200, 500]
    with served(fault=("status:share=0.5",), seed=7) as server, Raw(server.url) as client:
        statuses = [client.ask().status for _ in range(64)]
    with served(fault=("status:share=0.5",), seed=7) as server, Raw(server.url) as client:
        assert [client.ask().status for _ in range(64)] == statuses
    assert 16 < statuses.count(500) < 48  # 32 +- 4 sigma
    with (
        served(first_s=60.0, fault=("status:above=1",)) as server,
        Raw(server.url) as one,
        Raw(server.url) as two,
        Raw(server.url) as three,
    ):
        for client in (one, two, three):
            client.send()
        while len(server.log) < 3:
            time.sleep(0.001)
        assert [entry.fault for entry in server.log] == ["", "", "status"]


def test_faults_can_be_set_while_it_serves() -> None:
    with served() as server, Raw(server.url) as client:
        client.bytes(b"status:for=3600\n", path="/reference/faults")
        assert client.receive().status == 200
        assert client.ask().status == 500
        client.bytes(b"", path="/reference/faults")
        client.receive()
        assert client.ask().status == 200
        client.bytes(b"nonsense", path="/reference/faults")
        assert client.receive().status == 400


# ---- its truth and its end -------------------------------------------------------------------------------------------


def test_a_client_that_goes_away_is_in_the_truth_and_frees_its_slot() -> None:
    with served(first_s=60.0, slots=1) as server, Raw(server.url) as other:
        with Raw(server.url) as client:
            client.send()
            while not server.log:
                time.sleep(0.001)
            other.send("waits")
        while server.log[0].outcome == "open" or server.log[1].begin_ns is None:
            time.sleep(0.001)
        assert server.log[0].outcome == "abandoned"


@pytest.mark.slow
def test_the_kernel_tells_when_a_request_came_even_if_it_is_read_late() -> None:
    with served(fault=("stall:at=0.02,for=0.2",)) as server, Raw(server.url) as one, Raw(server.url) as two:
        one.ask(max_tokens=1)
        time.sleep(0.1)  # into the stall
        two.ask()
        late = server.log[1]
    if late.arrived_ns is None:
        pytest.skip("this kernel tells no time of arrival")
    assert late.read_ns - late.arrived_ns > 10_000_000


@pytest.mark.parametrize(("truth", "sends"), [("all", [9, 9]), ("ends", [3, 3]), ("none", [])])
def test_the_truth_is_kept_as_it_is_asked_for(truth: str, sends: list[int], tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl"
    with served(truth=truth, truth_file=str(path)) as server, Raw(server.url) as client:
        client.ask(max_tokens=8)
        client.ask(max_tokens=8)
        kept = list(server.log)
    found = entries(path.read_bytes())
    assert found == kept
    assert [len(entry.sent_ns) for entry in found] == sends


def test_a_process_serves_tells_its_truth_and_ends_with_the_block() -> None:
    with serving(Settings(first_s=0.0, next_s=0.0)) as server:
        with Raw(server.url) as client:
            client.ask(id="a")
        server.faults("status")
        (entry,) = server.truth()
        assert (entry.id, entry.outcome, entry.tokens_in, entry.tokens_out) == ("a", "complete", 3, 4)
        assert server.state()["requests"] == 1
        assert server.state()["cpu_s"] > 0.0
    assert not psutil.pid_exists(server.pid)
    host, port = server.url.removeprefix("http://").split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_a_server_ends_when_the_process_that_started_it_has_died() -> None:
    code = (
        "import os\nfrom fireassay.instruments.reference_server.server import serving\n"
        "with serving() as server:\n    print(server.pid, flush=True)\n    os._exit(9)\n"
    )
    pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=PROCESS_S).stdout)
    end = time.monotonic() + PROCESS_S
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_stopped_server_leaves_no_thread_no_socket_and_no_file_open() -> None:
    before = (threading.active_count(), set(os.listdir("/proc/self/fd")))
    with served() as server, Raw(server.url) as client:
        client.ask()
    assert (threading.active_count(), set(os.listdir("/proc/self/fd"))) == before


def test_settings_travel_by_the_command_line() -> None:
    from fireassay.instruments.reference_server.settings import settings_of

    asked = Settings(first_s=0.25, flush_all=True, salt="-x y", fault=("status:share=0.1", "hang"), role="none", seed=-3)
    assert settings_of(asked.arguments()) == (asked, False)
    assert settings_of(["--immediate"]) == (Settings(first_s=0.0, next_s=0.0), False)


@pytest.mark.parametrize(
    "words",
    [
        ["--fault", "nonsense"],
        ["--fault", "status:odd=1"],
        ["--fault", "status:code=x"],
        ["--fault", "stall"],
        ["--fault", "hang:every=0"],
        ["--fault", "hang:every"],
        ["--tokens", "0"],
        ["--first-s", "-1"],
        ["--host", "192.0.2.1"],
    ],
)
def test_nonsense_is_refused_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("reference server: ")


def test_a_canary_is_answered_with_its_nonce() -> None:
    """The prompts of fireassay.traffic.prompts.make, with and without words after the nonce."""
    import json

    from fireassay.instruments.reference_server.answers import Texts, parse_request

    for text in (
        "abc123 is a code. Begin your answer with it: abc123",
        "abc123 is a code. Begin your answer with it: abc123. Then go on with: x y z",
    ):
        body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
        assert Texts("").words(parse_request(body, chat=True).tail, 4)[0] == "abc123"
