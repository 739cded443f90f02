"""How do engines differ from a reference, at every token of given texts?  Asked over HTTP to echo them with their most probable tokens.

Each address of an engine is asked by itself, so that replicas behind one name are compared one by one; replicas behind a foreign router
are seen as one.  Addresses are asked one after another, since an engine that assay starts may be up only while its own are asked.  A KL of
the most probable tokens is a lower bound (`fireassay.quality.scoring.top_tokens`).  The floor is the reference asked a second time.  These requests
are neither timed nor rows of `requests`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.top_tokens import kl_at_least
from fireassay.record.secrets.redact import redact
from fireassay.runners.evaluating import echo_probe
from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Backend
from fireassay.traffic.replies.echoed import Echoed

TOP: Final = 5  # the most that every dialect of /v1/completions gives
PATIENCE: Final = 2  # texts in a row at which an engine gives nothing within the time limit; the others are not asked


@dataclass(frozen=True, kw_only=True)
class Address:
    """One address of an engine, and what it is called there."""

    target: Target
    url: str
    model: str

    @property
    def shown(self) -> str:
        """For messages."""
        return f"the engine {self.target.name} at {redact(self.url)}"


def check(address: Address) -> None:
    """Check that an engine echoes with its most probable tokens.

    Raises:
        EnvironmentLacks: it does not.
    """
    found = scored(address, echo_probe.CONTEXT, echo_probe.CONTINUATION)
    if isinstance(found, str) or not found.top:
        why = found if isinstance(found, str) else "it reported no top_logprobs"
        raise EnvironmentLacks(
            f"{address.shown} cannot be compared with the reference token by token: {why}\nNo item was sent. evaluation.divergence needs "
            f"/v1/completions with echo and logprobs = {TOP}. Leave out --divergence, or name folders of models, which run in this process"
        )


def scored(address: Address, context: str, continuation: str) -> Echoed | str:
    """The tokens of a continuation as the engine scores them, or why there are none."""
    without_stops = {
        name: value for name, value in address.target.options.items() if name != "json.stop"
    }  # the echoed text is not to be cut
    target = address.target.model_copy(update={"options": {**without_stops, "body.logprobs": TOP}})
    backend: Backend = catalog.load("traffic.backends", target.backend)
    return echo_probe.echo(backend, target, address.url, address.model, (context, continuation))


def sides(
    addresses: Iterable[Address], texts: Sequence[tuple[str, str]], at_once: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Mapping[str, Any]]:
    """One row for each text of each side; side 0 is the floor: the first address asked again.

    `at_once` is around the requests, which a stop ends, and not around the addresses: to give the next one, an engine may be started.
    """
    reference: list[Echoed | str] = []
    for side, address in enumerate(addresses):
        with at_once():
            reference = reference or _all(address, texts)
            found = _all(address, texts)
        for index, (before, after) in enumerate(zip(reference, found, strict=True)):
            yield {"side": side, "text": index, **_row(before, after)}


def _all(address: Address, texts: Sequence[tuple[str, str]]) -> list[Echoed | str]:
    """Every text as scored; an engine that hangs is not waited for at each of them."""
    found: list[Echoed | str] = []
    late = 0
    for text in texts:
        begin_s = monotonic()
        found.append(scored(address, *text) if late < PATIENCE else found[-1])
        if late < PATIENCE:
            late = late + 1 if isinstance(found[-1], str) and monotonic() - begin_s >= echo_probe.TIMEOUT_S else 0
    return found


def _row(reference: Echoed | str, engine: Echoed | str) -> dict[str, Any]:
    for side in (reference, engine):
        if isinstance(side, str):
            return {"error": side}
    assert isinstance(reference, Echoed)
    assert isinstance(engine, Echoed)
    if reference.tokens != engine.tokens:
        return {"error": "the two engines tokenize the texts differently, so their tokens cannot be compared"}
    pairs = list(zip(_tops(reference), _tops(engine), strict=True))
    bounds = [kl_at_least(ours, theirs) for ours, theirs in pairs]
    return {
        "kl": [None if math.isnan(bound) else bound for bound in bounds],
        "same_top": [int(_best(ours) == _best(theirs)) for ours, theirs in pairs],
        "reference_logprob": list(reference.logprobs),
        "logprob": list(engine.logprobs),
    }


def _tops(echoed: Echoed) -> list[dict[str, float]]:
    """The most probable tokens of each position, and the given one."""
    tops = echoed.top or ({},) * len(echoed.tokens)
    return [{**top, token: value} for top, token, value in zip(tops, echoed.tokens, echoed.logprobs, strict=True)]


def _best(top: Mapping[str, float]) -> str:
    return max(sorted(top), key=lambda token: top[token])
