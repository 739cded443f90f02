"""What do all tasks have in common whose answer is text?"""

from __future__ import annotations

from assay.traffic.parts import Ask, Json, Prompt


def generating(prompt: Prompt, asked: Ask, *, messages: tuple[Json, ...] = (), text: str = "") -> Ask:
    """The ask with its content, and with the prompt's output length.

    Without a length nothing may be told to go past the model's own end, or the answer would go on to the context's.
    """
    # Spelled out: dataclasses.replace takes twice as long, and this runs just ahead of every request's time.
    return Ask(
        task=asked.task,
        model=asked.model,
        messages=messages,
        prompt=text,
        max_tokens=prompt.tokens_out,
        stream=asked.stream,
        temperature=asked.temperature,
        ignore_eos=asked.ignore_eos and prompt.tokens_out is not None,
        seed=asked.seed,
        logprobs=asked.logprobs,
    )
