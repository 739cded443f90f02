"""Do seven peers' numbers come out of our log as they would have computed them?  From the golden transcripts, to 1e-9.

Each transcript goes the way of a real answer: reads -> backend -> rows of the record -> `fireassay.frames.serving.answers`.
Against it stand the peers' own loops, written here from their descriptions (docs/definitions.md) on the raw
events: none of them shares a line with our parser or our metrics.  A tokenizer that counts words stands in for the model's.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.frames.serving.answers import numbers
from fireassay.record.tables import TABLES
from fireassay.traffic.parts import Answer, Backend
from tests.builders import frame
from tests.traffic.transcripts import FOLDER, Transcript, load

Numbers = dict[str, float | None]
Event = tuple[float, str]  # seconds after sending, data of the event
SPEAKS_OPENAI = ("openai", "vllm", "sglang", "trtllm", "transformers", "azure", "llamacpp")


# ---- the peers' loops on raw events ------------------------------------------------------------------------------


def raw_events(path: Path) -> Iterator[Event]:
    """Every SSE event with the time of the read that completed it: lines are split as they come."""
    told = json.loads(path.read_text(encoding="utf-8"))
    pending, data = b"", []
    last = 0.0
    for ns, piece in told["reads"]:
        last = (ns - told["sent_ns"]) / 1e9
        pending += piece.encode() if isinstance(piece, str) else base64.b64decode(piece["base64"])
        *lines, pending = re.split(rb"\r?\n", pending)
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                yield last, b"\n".join(data).decode()
                data = []
    if pending.startswith(b"data:"):
        data.append(pending[5:].strip())
    if data:
        yield last, b"\n".join(data).decode()


def said(payload: dict[str, Any]) -> tuple[str, str, bool]:
    """Content, reasoning, and whether there is a tool call, of one chunk."""
    choices = payload.get("choices") or [{}]
    delta = choices[0].get("delta") or {}
    content = delta.get("content") or choices[0].get("text") or ""
    return content, delta.get("reasoning_content") or delta.get("reasoning") or "", bool(delta.get("tool_calls"))


def usage_of(events: list[Event]) -> int | None:
    """The last completion_tokens that the server told."""
    found = None
    for _, data in events:
        if data != "[DONE]" and (usage := json.loads(data).get("usage")):
            found = usage["completion_tokens"]
    return found


def vllm(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """async_request_openai_chat_completions: `if choices := data.get("choices")`."""
    ttft, latency, recent = 0.0, 0.0, 0.0
    itl: list[float] = []
    for now, data in events:
        if data == "[DONE]":
            continue
        if json.loads(data).get("choices"):
            if ttft == 0.0:
                ttft = now
            else:
                itl.append(now - recent)
            recent = latency = now
    n = usage_of(events)
    n = n if n is not None else words if words is not None else 1
    tpot = (latency - ttft) / (n - 1) if n > 1 and ttft else None
    return {"ttft": ttft or None, "tpot": tpot, "itl": sum(itl) if ttft else None, "gaps": len(itl) if ttft else None}


def sglang(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """async_request_openai_chat_completions of bench_serving: `latency` is set on every line, [DONE] included."""
    ttft, latency, recent = 0.0, 0.0, 0.0
    itl: list[float] = []
    n = asked
    for now, data in events:
        latency = now
        if data == "[DONE]":
            continue
        payload = json.loads(data)
        content, reasoning, _ = said(payload)
        if content or reasoning:
            if ttft == 0.0:
                ttft = now
            else:
                itl.append(now - recent)
            recent = now
        if payload.get("usage"):
            n = payload["usage"]["completion_tokens"]
    tpot = (latency - ttft) / (n - 1) if n is not None and n > 1 and ttft else None
    return {"ttft": ttft or None, "tpot": tpot, "itl": sum(itl) if ttft else None, "gaps": len(itl) if ttft else None}


def genai_bench(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """OpenAIUser.parse_chat_response: the end is after the loop, and outputs below 1 ms are dropped."""
    first = end = None
    for now, data in events:
        end = now
        if data == "[DONE]":
            break
        content, reasoning, _ = said(json.loads(data))
        if first is None and (content or reasoning):
            first = now
    n = usage_of(events)
    n = words if n is None else n
    tpot = None
    if first is not None and end is not None and n is not None and n > 1 and end - first >= 0.001:
        tpot = (end - first) / (n - 1)
    return {"ttft": first, "tpot": tpot}


def guidellm(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """GenerativeRequestStats: first and last iteration and their number; TPOT holds the first token."""
    times = [now for now, data in events if data != "[DONE]" and any(said(json.loads(data)))]
    if not times:
        return {"ttft": None, "tpot": None, "itl": None}
    n = usage_of(events)
    n = len(times) if n is None else n
    return {"ttft": times[0], "tpot": times[-1] / n if n else None, "itl": (times[-1] - times[0]) / (n - 1) if n > 1 else None}


def aiperf(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """InterTokenLatencyMetric: (latency - ttft) / (OSL - 1), the client's tokenizer first."""
    times = [now for now, data in events if data != "[DONE]" and any(said(json.loads(data))[:2])]
    if not times:
        return {"ttft": None, "itl": None}
    n = words if words is not None else usage_of(events)
    return {"ttft": times[0], "itl": (times[-1] - times[0]) / (n - 1) if n is not None and n > 1 else None}


def inference_perf(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """Content alone; every token of a chunk has the chunk's time, so that the gaps of n tokens sum to last - first."""
    times = [now for now, data in events if data != "[DONE]" and said(json.loads(data))[0]]
    if not times:
        return {"ttft": None, "tpot": None, "itl": None, "gaps": None}
    n = words if words is not None else usage_of(events)
    if n is None or n <= 1:
        return {"ttft": times[0], "tpot": None, "itl": None, "gaps": None}
    return {"ttft": times[0], "tpot": (times[-1] - times[0]) / (n - 1), "itl": times[-1] - times[0], "gaps": n - 1}


def llmperf(events: list[Event], words: int | None, asked: int | None) -> Numbers:
    """OpenAIChatCompletionsClient: sum of ttft and gaps over the chunks received, [DONE] aside."""
    received, recent, to_next = 0, 0.0, []
    for now, data in events:
        if data == "[DONE]":
            continue
        received += 1
        if said(json.loads(data))[0]:
            to_next.append(now - recent)
            recent = now
    if not to_next:
        return {"ttft": None, "itl": None}
    return {"ttft": to_next[0], "itl": sum(to_next) / received}


PEERS: dict[str, Callable[[list[Event], int | None, int | None], Numbers]] = {
    "vllm": vllm,
    "sglang": sglang,
    "genai_bench": genai_bench,
    "guidellm": guidellm,
    "aiperf": aiperf,
    "inference_perf": inference_perf,
    "llmperf": llmperf,
}


# ---- the way of a real answer ------------------------------------------------------------------------------------


def golden() -> list[Path]:
    """The transcripts that the peers could have read: answers in OpenAI's form that ended well."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        text = "".join(piece for _, piece in told["reads"] if isinstance(piece, str))
        if told["dialect"] in SPEAKS_OPENAI and told["expected"]["status"] == "ok" and '"choices"' in text:
            found.append(path)
    return found


def row(transcript: Transcript, answer: Answer) -> tuple[Any, ...]:
    """The answer as a row of table requests; nothing but what the numbers need."""
    sent = transcript.sent_ns
    known: dict[str, Any] = {
        "launch": 0,
        "request": 0,
        "client": 0,
        "phase": "main",
        "kind": "normal",
        "transport": "lean",
        "scheduled_ns": sent,
        "sent_ns": sent,
        "status": answer.status,
        "tokens_out": answer.tokens_out,
        "chunk_ns": [ns - sent for ns in answer.chunk_ns],
        "chunk_kind": answer.chunk_kind,
        "chunk_chars": answer.chunk_chars,
        "bytes_out": 0,
        "bytes_in": 0,
        "text": answer.text,
        "logprobs": answer.logprobs,
        "chunk_uncertainty_ns": [],
    }
    return tuple(known.get(column.name) for column in TABLES["requests"].columns)


def words_of(answer: Answer) -> int:
    """The stand-in tokenizer."""
    return len(f"{answer.reasoning or ''} {answer.text or ''}".split())


def ours(path: Path, *, tokenizer: bool) -> tuple[Numbers, int | None]:
    """Our numbers of one transcript, and the tokenizer's count if there is one."""
    transcript = load(path)
    backend: Backend = catalog.load("traffic.backends", transcript.dialect)
    answer = backend.read(transcript.reply, transcript.ask)
    words = words_of(answer) if tokenizer else None
    arrival = {
        "launch": 0,
        "request": 0,
        "phase": "main",
        "kind": "normal",
        "pause_ns": 0,
        "pause_kind": "none",
        "tokens_out": transcript.ask.max_tokens,
        "seed": 0,
    }
    tables = {
        "requests": frame("requests", [row(transcript, answer)]),
        "arrivals": frame("arrivals", [tuple(arrival.get(column.name) for column in TABLES["arrivals"].columns)]),
        "token_counts": frame("token_counts", [] if words is None else [(0, 0, None, words, [])]),
    }
    return numbers(tables).row(0, named=True), words


def test_the_golden_set_is_large_enough() -> None:
    assert len(golden()) >= 20


@pytest.mark.parametrize("tokenizer", [False, True], ids=["usage alone", "with a tokenizer"])
@pytest.mark.parametrize("path", golden(), ids=lambda path: path.stem)
def test_our_log_gives_every_peer_s_numbers(path: Path, tokenizer: bool) -> None:
    found, words = ours(path, tokenizer=tokenizer)
    events, asked = list(raw_events(path)), load(path).ask.max_tokens
    defined, compared = found.keys() - {"launch", "request"}, 0
    for peer, reference in PEERS.items():
        for kind, wanted in reference(events, words, asked).items():
            name = f"{kind}_{peer}"
            assert name in defined
            number = found[name]
            if wanted is None:
                assert number is None, name
            else:
                assert number is not None, name
                assert math.isclose(number, wanted, rel_tol=0.0, abs_tol=1e-9), (name, number, wanted)
            compared += 1
    assert compared == len(defined)


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        # Role 30 ms, text 50, 60, 70, finish 70.5, end mark 71; no usage; 16 tokens were asked for.
        (
            "role_only_first",
            {
                "ttft_vllm": 0.030,
                "ttft_sglang": 0.050,
                "ttft_guidellm": 0.050,
                "ttft_llmperf": 0.050,
                "tpot_sglang": 0.021 / 15,
                "tpot_guidellm": 0.070 / 3,
                "itl_guidellm": 0.010,
                "itl_llmperf": 0.070 / 5,
                "itl_vllm": 0.0405,
                "gaps_vllm": 4,
                "tpot_vllm": None,
                "tpot_genai_bench": None,
                "itl_aiperf": None,
            },
        ),
        # Role 10 ms, 9 tokens in chunks at 40, 60, 90 ms, usage 90.2, end mark 90.3.
        (
            "multi_token_chunk",
            {
                "ttft_vllm": 0.010,
                "tpot_vllm": 0.080 / 8,
                "itl_vllm": 0.080,
                "gaps_vllm": 3,
                "ttft_sglang": 0.040,
                "tpot_sglang": 0.0503 / 8,
                "itl_sglang": 0.050,
                "gaps_sglang": 2,
                "tpot_genai_bench": 0.0503 / 8,
                "tpot_guidellm": 0.090 / 9,
                "itl_guidellm": 0.050 / 8,
                "itl_aiperf": 0.050 / 8,
                "tpot_inference_perf": 0.050 / 8,
                "gaps_inference_perf": 8,
                "itl_llmperf": 0.090 / 5,
            },
        ),
        # Role 12 ms, "Hi" 22, " you" 32, usage and end mark 33; 2 tokens.
        (
            "continuous_usage",
            {
                "ttft_vllm": 0.012,
                "tpot_vllm": 0.020,
                "tpot_sglang": 0.011,
                "tpot_guidellm": 0.016,
                "itl_guidellm": 0.010,
                "itl_aiperf": 0.010,
                "itl_llmperf": 0.032 / 4,
            },
        ),
        # Role 20 ms, finish and usage 21, end mark 21.5: no text at all.
        ("empty_answer", {"ttft_vllm": 0.020, "ttft_sglang": None, "tpot_guidellm": None, "itl_llmperf": None, "gaps_vllm": 1}),
    ],
)
def test_by_hand(stem: str, expected: dict[str, float | None]) -> None:
    found, _ = ours(FOLDER / f"{stem}.json", tokenizer=False)
    wanted = {name: value if value is None else pytest.approx(value, abs=1e-9) for name, value in expected.items()}
    assert {name: found[name] for name in expected} == wanted


def test_one_answer_has_four_times_per_token() -> None:
    """What users see as one word differs by more than a factor of two (9 tokens in three chunks after an empty role)."""
    found, _ = ours(FOLDER / "multi_token_chunk.json", tokenizer=True)
    seen = {found[name] for name in ("tpot_vllm", "tpot_sglang", "tpot_guidellm", "itl_aiperf", "itl_llmperf")}
    assert len(seen) == 4  # AIPerf stops at the last text, SGLang at the end mark, guidellm and llmperf begin at sending
    assert max(filter(None, seen)) > 2 * min(filter(None, seen))
