"""How do the model families on Bedrock format requests and chunks in InvokeModel?

Converse has one dialect for all; InvokeModel passes the model's own JSON through.  The family is the first part of the model's ID that
names one: anthropic.claude-..., eu.anthropic.claude-..., meta.llama3-..., mistral.mistral-...
The last chunk of each may carry `amazon-bedrock-invocationMetrics`, with Bedrock's own token counts.
Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.traffic.backends.support.bodies import Tree, some, text_of
from fireassay.traffic.backends.support.native_events import AnswerBuilder
from fireassay.traffic.parts import Ask, Kind
from fireassay.traffic.replies.openai_json import text_of_choice, usage_of

METRICS: Final = "amazon-bedrock-invocationMetrics"
_COUNTS = {"tokens_in": "inputTokenCount", "tokens_out": "outputTokenCount", "tokens_cached": "cacheReadInputTokenCount"}


@dataclass(frozen=True)
class Family:
    """The JSON format of a model family."""

    fixed: Callable[[Ask], Tree]
    varied: Callable[[Ask], Tree]
    take: Callable[[Mapping[str, Any], int, AnswerBuilder], None]  # a chunk's JSON, its time


@lru_cache(maxsize=256)
def family_of(model: str) -> str:
    """The family of a model ID.

    Raises:
        EnvironmentLacks: the family is unknown.
    """
    words = model.rpartition("/")[2].split(".")
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        name = "nova" if word == "amazon" and following.startswith("nova") else word
        if name in INVOKED:
            return name
    families = ", ".join(sorted(INVOKED))
    raise EnvironmentLacks(f'api = "invoke" supports models of {families}, not {model!r}; api = "converse" supports all')


def _turns(ask: Ask) -> list[Tree]:
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    return [{"role": message["role"], "content": text_of(message.get("content"))} for message in messages]


def _prompt(ask: Ask) -> str:
    return ask.prompt or "\n".join(turn["content"] for turn in _turns(ask))


def _metrics(document: Mapping[str, Any], into: AnswerBuilder) -> None:
    into.tokens(document.get(METRICS) or {}, _COUNTS)


# ---- Anthropic ---------------------------------------------------------------------------------------------------


def _anthropic_fixed(ask: Ask) -> Tree:
    return {"anthropic_version": "bedrock-2023-05-31", "temperature": ask.temperature}


def _anthropic_varied(ask: Ask) -> Tree:
    turns = _turns(ask)
    system = "\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    return some(
        messages=[turn for turn in turns if turn["role"] != "system"],
        system=system or None,
        max_tokens=ask.max_tokens or 4096,  # required by the API
    )


def _anthropic_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    kind = document.get("type")
    if kind == "content_block_delta":
        delta = document["delta"]
        if "partial_json" in delta:
            into.add(ns, Kind.TOOL, len(delta["partial_json"]))
        else:
            into.add_text(ns, delta.get("text") or delta.get("thinking") or "", reasoning="thinking" in delta)
    elif kind == "message_delta":
        into.add(ns, Kind.FINISH)
        into.finish(document["delta"].get("stop_reason"))
        into.tokens(document.get("usage") or {}, {"tokens_out": "output_tokens"})
    elif kind == "message_start":
        into.add(ns, Kind.ROLE)
        usage = document["message"].get("usage") or {}
        into.tokens(usage, {"tokens_in": "input_tokens", "tokens_cached": "cache_read_input_tokens"})
    elif kind == "message":
        into.add_mixed(ns, text_of(document["content"]), "", 0, Kind.FINISH)
        into.finish(document.get("stop_reason"))
        into.tokens(document.get("usage") or {}, {"tokens_in": "input_tokens", "tokens_out": "output_tokens"})
    else:
        into.add(ns, Kind.DONE if kind == "message_stop" else Kind.OTHER)
    _metrics(document, into)


# ---- Meta, Mistral -----------------------------------------------------------------------------------------------


def _meta_fixed(ask: Ask) -> Tree:
    return {"temperature": ask.temperature}


def _meta_varied(ask: Ask) -> Tree:
    return some(prompt=_prompt(ask), max_gen_len=ask.max_tokens)


def _meta_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    reason = document.get("stop_reason")
    into.add_text(ns, document["generation"], empty=Kind.FINISH if reason else Kind.ROLE)
    into.finish(reason)
    into.tokens(document, {"tokens_in": "prompt_token_count"})
    if reason:
        into.tokens(document, {"tokens_out": "generation_token_count"})
    _metrics(document, into)


def _mistral_varied(ask: Ask) -> Tree:
    return some(prompt=f"<s>[INST] {_prompt(ask)} [/INST]", max_tokens=ask.max_tokens)


def _mistral_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if "choices" in document:
        _openai_take(document, ns, into)
        return
    output = document["outputs"][0]
    reason = output.get("stop_reason")
    into.add_text(ns, output["text"], empty=Kind.FINISH if reason else Kind.ROLE)
    into.finish(reason)
    _metrics(document, into)


# ---- Amazon Nova -------------------------------------------------------------------------------------------------


def _nova_fixed(ask: Ask) -> Tree:
    return {"schemaVersion": "messages-v1", "inferenceConfig": {"temperature": ask.temperature}}


def _nova_varied(ask: Ask) -> Tree:
    turns = _turns(ask)
    system = [{"text": turn["content"]} for turn in turns if turn["role"] == "system"]
    messages = [{"role": turn["role"], "content": [{"text": turn["content"]}]} for turn in turns if turn["role"] != "system"]
    return some(messages=messages, system=system or None, inferenceConfig=some(maxTokens=ask.max_tokens))


def _nova_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if "contentBlockDelta" in document:
        into.add_text(ns, document["contentBlockDelta"]["delta"].get("text", ""))
    elif "messageStop" in document:
        into.add(ns, Kind.FINISH)
        into.finish(document["messageStop"].get("stopReason"))
    elif "metadata" in document:
        into.add(ns, Kind.USAGE)
        usage = document["metadata"].get("usage") or {}
        into.tokens(usage, {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "tokens_cached": "cacheReadInputTokenCount"})
    else:
        into.add(ns, Kind.ROLE if "messageStart" in document else Kind.OTHER)
    _metrics(document, into)


# ---- OpenAI's format ---------------------------------------------------------------------------------------------


def _openai_fixed(ask: Ask) -> Tree:
    return {"temperature": ask.temperature, "stream": ask.stream}


def _openai_varied(ask: Ask) -> Tree:
    return some(messages=_turns(ask), max_completion_tokens=ask.max_tokens, seed=ask.seed)


def _openai_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    choices = document.get("choices")
    if choices:
        delta, reason = text_of_choice(choices[0]), choices[0].get("finish_reason") or choices[0].get("stop_reason")
        tool = delta.chars - len(delta.content) - len(delta.reasoning)
        into.add_mixed(ns, delta.content, delta.reasoning, tool, Kind.FINISH if reason else Kind.ROLE)
        into.finish(reason)
    else:
        into.add(ns, Kind.USAGE if document.get("usage") else Kind.OTHER)
    usage = usage_of(document.get("usage"))
    answer = into.answer
    answer.tokens_in, answer.tokens_out = usage.get("in") or answer.tokens_in, usage.get("out") or answer.tokens_out
    _metrics(document, into)


INVOKED: Final[Mapping[str, Family]] = {
    "anthropic": Family(_anthropic_fixed, _anthropic_varied, _anthropic_take),
    "meta": Family(_meta_fixed, _meta_varied, _meta_take),
    "mistral": Family(_meta_fixed, _mistral_varied, _mistral_take),
    "nova": Family(_nova_fixed, _nova_varied, _nova_take),
    "openai": Family(_openai_fixed, _openai_varied, _openai_take),
}
