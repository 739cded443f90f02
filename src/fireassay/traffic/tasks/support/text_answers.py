"""What do all tasks with text answers share?"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Json, Prompt
from fireassay.traffic.prompts.conversation import messages_of


def text_ask(prompt: Prompt, base: Ask, *, messages: tuple[Json, ...] = (), text: str = "") -> Ask:
    """The ask with its content and the prompt's output length.

    Without a length `ignore_eos` is off, or the answer would fill the context.
    """
    # Written out: replacing fields takes twice as long, and this runs just before each request is due.
    return Ask(
        task=base.task,
        model=base.model,
        messages=messages,
        prompt=text,
        max_tokens=prompt.tokens_out,
        stream=base.stream,
        temperature=base.temperature,
        ignore_eos=base.ignore_eos and prompt.tokens_out is not None,
        seed=base.seed,
        logprobs=base.logprobs,
    )


def chat_ask(prompt: Prompt, base: Ask) -> Ask:
    """The ask with the prompt's messages, images in the last one, and its output length."""
    return text_ask(prompt, base, messages=messages_of(prompt))
