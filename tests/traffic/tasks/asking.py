"""An ask without content, as the client hands it to every task."""

from __future__ import annotations

from fireassay.traffic.parts import Ask

PLAIN = Ask(task="t", model="m", stream=True, temperature=0.5, ignore_eos=True, seed=3, logprobs=True)


def kept(asked: Ask) -> tuple[object, ...]:
    """What a task must leave as it is."""
    return asked.task, asked.model, asked.temperature, asked.seed, asked.logprobs


KEPT = kept(PLAIN)
