"""How are messages written in OpenAI's format, and how does a conversation continue after an answer or a tool call?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fireassay.traffic.parts import Json, Prompt
from fireassay.traffic.prompts.images import data_url
from fireassay.traffic.prompts.texts import SENTINEL
from fireassay.traffic.prompts.tokens import Tokenizer

NO_ANSWER: Final = "(no answer)"  # placeholder for a failed turn: templates require alternating turns
CALL_ID: Final = 9  # letters and digits: some templates require this length


def user(text: str) -> Json:
    """A user message."""
    return {"role": "user", "content": text}


def messages_of(prompt: Prompt) -> tuple[Json, ...]:
    """The messages of a prompt; images go into the last one, before the text."""
    messages = prompt.messages or (user(prompt.text),)
    if not prompt.images:
        return messages
    parts: list[Json] = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in prompt.images]
    return (*messages[:-1], {**messages[-1], "content": [*parts, {"type": "text", "text": messages[-1]["content"]}]})


def flat(prompt: Prompt) -> str:
    """The prompt as one text, for engines without messages."""
    if not prompt.messages:
        return prompt.text
    return "\n\n".join(str(message.get("content") or "") for message in prompt.messages)


def after(prompt: Prompt, answer: str | None) -> tuple[Json, ...]:
    """The history for the next turn, without images."""
    messages = prompt.messages or (user(prompt.text),)
    return (*messages, {"role": "assistant", "content": answer or NO_ANSWER})


def tool_step(history: Sequence[Json], result: str, call: str) -> tuple[Json, ...]:
    """The history with its last answer turned into a tool call, followed by the tool's result."""
    function = {"name": "lookup", "arguments": "{}"}
    request = {**history[-1], "tool_calls": [{"id": call, "type": "function", "function": function}]}
    return (*history[:-1], request, {"role": "tool", "tool_call_id": call, "name": "lookup", "content": result})


def tool_role(tokenizer: Tokenizer) -> str:
    """The role for tool results: tool if the model's chat template shows them, else user."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    try:
        rendered = tokenizer.render(tool_step(history, SENTINEL, "a" * CALL_ID))
    except ValueError:
        return "user"
    return "tool" if rendered is not None and SENTINEL in rendered else "user"
