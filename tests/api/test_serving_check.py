"""Does `assay load URL --check` say in plain words how a server answers, and what would spoil a load?"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay import cli
from fireassay.api.serving_check import TIMEOUT_S, TOGETHER, announcement, of_ten
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.spec.load import from_mapping
from tests.traffic.engine import Behave, Heard, engine

TEN = ("--scenario", "D(6,6)", "--model", "llama", "--json")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any]]]:
    """The exit code and the lines by name; a check leaves nothing behind."""

    def asked(url: str, *words: str) -> tuple[int, dict[str, Any]]:
        code = cli.main(["load", url, "--check", *TEN, *words])
        told = json.loads(capsys.readouterr().out)
        assert list(tmp_path.iterdir()) == []
        assert told["fit"] == (not any(line["warning"] for line in told["lines"]))
        return code, {line["name"]: line for line in told["lines"]}

    return asked


def warned(lines: dict[str, Any]) -> set[str]:
    return {name for name, line in lines.items() if line["warning"]}


def saying(head: str, body: bytes) -> Behave:
    async def behave(_: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        return True

    return behave


def whole_json(usage: dict[str, int]) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": "one two three"}, "finish_reason": "stop"}
    return json.dumps({"model": "llama", "choices": [choice], "usage": usage}).encode()


def test_a_server_as_it_should_be(ask: Any) -> None:
    with serving(Settings(first_s=0.03, next_s=0.005)) as server:
        code, lines = ask(server.url)
    assert code == 0
    assert warned(lines) <= {"cold or warm", "streams"}  # a busy machine may be late once, or read late
    assert lines["answers"]["data"] == {"answered": 10, "requests": 10}
    assert lines["model"]["text"] == '"llama" answered, as requested'
    assert lines["usage"]["data"] == {"usage": True, "reported": 10, "impossible": 0}
    assert lines["tokens per event"]["data"] == {"tokens_per_event": 1.0, "tokens": 60, "events": 60}
    assert lines["lengths"]["data"] == {"requested": 60, "received": 60}
    assert lines["rate limit"]["data"] == {"limited": 0, "headers": {}}
    assert lines["compression"]["data"] == {"compressed": 0}
    assert lines["connections"]["data"]["opened"] <= 4


@pytest.mark.deep
def test_another_model_and_several_tokens_in_an_event(ask: Any) -> None:
    with serving(Settings(first_s=0.005, next_s=0.001, model="tiny", tokens_per_chunk=3)) as server:
        _, lines = ask(server.url)
    assert "model" in warned(lines)
    assert lines["model"]["text"] == '"llama" was requested, "tiny" answered'
    assert lines["tokens per event"]["data"] == {"tokens_per_event": 3.0, "tokens": 60, "events": 20}
    assert "not the time per token" in lines["tokens per event"]["text"]


@pytest.mark.deep
def test_a_stream_that_is_gathered_on_its_way_and_tells_no_usage(ask: Any) -> None:
    with serving(Settings(first_s=0.005, next_s=0.001, flush_all=True, usage="never")) as server:
        _, lines = ask(server.url)
    assert {"streams", "usage"} <= warned(lines)
    assert "in one read" in lines["streams"]["text"]
    assert lines["tokens per event"]["data"] == {"tokens_per_event": None}


@pytest.mark.deep
@pytest.mark.slow
def test_a_whole_json_with_an_impossible_usage(ask: Any) -> None:
    body = whole_json({"prompt_tokens": 6, "completion_tokens": 4000})
    with engine(saying("200 OK\r\nContent-Type: application/json", body)) as made:
        _, lines = ask(made.url)
    assert "streams" in warned(lines)
    assert lines["streams"]["text"].startswith("no: 10 of 10 answers came as a single JSON document")
    assert "lengths" in warned(lines)
    assert lines["lengths"]["data"] == {"requested": 60, "received": 40_000}


@pytest.mark.deep
@pytest.mark.slow
def test_limits_are_told_by_status_and_by_header(ask: Any) -> None:
    head = "429 Too Many Requests\r\nRetry-After: 0\r\nX-RateLimit-Limit-Requests: 3"
    with engine(saying(head, b'{"error": {"message": "slow down"}}')) as made:
        code, lines = ask(made.url)
    assert code == 5
    assert warned(lines) == {"answers", "rate limit"}
    assert "slow down" in lines["answers"]["text"]
    told = {"retry-after": "0", "x-ratelimit-limit-requests": "3"}
    assert lines["rate limit"]["data"] == {"limited": 10, "headers": told}


@pytest.mark.deep
@pytest.mark.slow
def test_compression_is_named(ask: Any) -> None:
    body = gzip.compress(whole_json({"prompt_tokens": 6, "completion_tokens": 3}))
    with engine(saying("200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", body)) as made:
        code, lines = ask(made.url)
    assert code == 5
    assert lines["compression"]["data"] == {"compressed": 10}


@pytest.mark.deep
@pytest.mark.slow
def test_a_key_that_is_missing_is_hinted_at(ask: Any) -> None:
    with engine(saying("401 Unauthorized", b'{"error": "no key"}')) as made:
        code, lines = ask(made.url)
    assert code == 5
    assert "--api-key-env" in lines["answers"]["text"]


def test_a_path_that_no_request_finds_is_a_failure_with_the_address_to_write(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The limit of a server that answered nothing is not called ok."""
    with engine(saying("404 Not Found", b'{"error": "no such path"}')) as made:
        code, lines = ask(f"{made.url}/api")
        assert cli.main(["load", f"{made.url}/api", "--check", *TEN[:-1]]) == 5
        assert f"write {made.url} if the server answers there" in lines["answers"]["text"]
    assert code == 5
    assert lines["answers"]["failed"]
    assert "rate limit" not in lines
    assert "no answer" in capsys.readouterr().out.lower()


@pytest.mark.deep
@pytest.mark.parametrize("key", ["violet harbour 1234567890", "violet harbour " + 40 * "0123456789"], ids=["short", "long"])
def test_a_key_is_in_no_line(ask: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """In the model's name, in a header's text and, longer than what is kept of either, cut."""
    monkeypatch.setenv("KEY_OF_THE_CHECK", key)

    async def echo(_: Heard, writer: asyncio.StreamWriter) -> bool:
        body = whole_json({"prompt_tokens": 6, "completion_tokens": 3}).replace(b"llama", key.encode()[:150])
        return bool(await saying(f"200 OK\r\nX-RateLimit-Of: {key}", body if len(key) < 150 else whole_json({}))(_, writer))

    with engine(echo) as made:
        _, lines = ask(made.url, "--api-key-env", "KEY_OF_THE_CHECK")
    assert lines["rate limit"]["data"]["headers"]
    assert lines["model"]["data"]["answered"]
    assert "violet" not in json.dumps(lines)


@pytest.mark.deep
def test_a_whole_json_without_usage_is_no_stream(ask: Any) -> None:
    body = json.loads(whole_json({}))
    body["choices"][0]["message"]["content"] = "one two three four five six seven eight nine ten"
    del body["usage"]
    with engine(saying("200 OK\r\nContent-Type: application/json", json.dumps(body).encode())) as made:
        _, lines = ask(made.url)
    assert {"streams", "usage"} <= warned(lines)


@pytest.mark.deep
def test_a_task_without_output_tokens(ask: Any) -> None:
    told = {"model": "llama", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 6, "total_tokens": 6}}
    with engine(saying("200 OK\r\nContent-Type: application/json", json.dumps(told).encode())) as made:
        code, lines = ask(made.url, "--task", "embeddings", "--scenario", "E(6)")
    assert code == 0
    assert lines["streams"]["data"] == {"streams": None}
    assert lines["usage"]["text"].endswith("6 tokens in at the median")


@pytest.mark.deep
def test_a_page_of_the_lines_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Settings(first_s=0.002, next_s=0.001, model="evil\x1b[2Jname")) as server:
        assert cli.main(["load", server.url, "--check", *TEN[:-1]]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert server.url in out.splitlines()[0]
    assert any(line.split()[:2] == ["model", "warning"] for line in out.splitlines())
    assert "10 requests" in err


def test_where_nothing_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert cli.main(["load", url, "--check", "--quiet"]) == 7
    assert f"no server at {url}" in capsys.readouterr().err


def test_it_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["load", "http://127.0.0.1:9", "--check", "--dry-run"])
    assert "not allowed with" in capsys.readouterr().err


def test_of_ten_keeps_what_is_sent_and_drops_what_takes_time() -> None:
    asked = from_mapping(
        {
            "name": "n",
            "workload": {"runner": "serving", "work": "tokens"},
            "launches": {"per_configuration": 5},
            "serving": {
                "targets": [{"urls": ["http://127.0.0.1:9"], "headers": {"X": "y"}}],
                "rate": [5.0],
                "scenarios": ["D(7,9)", "D(1,1)"],
                "arrivals": {"process": "poisson", "duration_s": 600.0},
                "client": {"processes": 4, "timeout_s": 900.0},
            },
        }
    )
    small = of_ten(asked)
    made = small.serving
    assert made is not None
    assert (made.targets, made.scenarios, made.rate) == (asked.serving.targets, ("D(7,9)",), ())  # type: ignore[union-attr]
    assert (made.arrivals.process, made.arrivals.requests, made.arrivals.warm_up_s) == ("closed", TOGETHER, 0.0)
    assert (made.client.processes, made.client.timeout_s, made.arrivals.drain_s) == (1, 900.0, 900.0)
    assert small.launches.per_configuration == 1
    assert announcement(small) == "sending 10 requests, at most 3 at a time, each with a timeout of 900 s"


def test_a_request_has_a_timeout_of_its_own_where_none_is_given() -> None:
    asked = from_mapping(
        {
            "name": "n",
            "workload": {"runner": "serving", "work": "tokens"},
            "serving": {"targets": [{"urls": ["http://127.0.0.1:9", "http://127.0.0.1:8"]}], "concurrency": [1]},
        }
    )
    small = of_ten(asked)
    assert small.serving is not None
    assert (small.serving.client.timeout_s, small.serving.arrivals.drain_s) == (TIMEOUT_S, TIMEOUT_S)
    assert announcement(small).startswith("sending 11 requests")  # one alone to each replica
