"""How does the reference server answer a sum, with a known probability of being right?

With the setting `solves` = p0,p1,p2..., a prompt with "A + B" is answered with the sum in a share p of requests, else with the sum plus 1:
one wrong answer, so that votes follow the binomial distribution. Requests are independent draws by the server's seed, the request's number, and
the seed that it carries, so that a server that is started again does not repeat its mistakes.
The step of p is the number of earlier answers in the conversation; with a budget of reasoning tokens (`thinking_budget`, or
`thinking.budget_tokens`) its doublings from 64 on. A budget of B is answered after B / 8 words, which the usage calls reasoning.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

SUM: Final = re.compile(r"(\d{1,9}) \+ (\d{1,9})")
LEAST: Final = 64  # tokens of the budget of step 0
PER_WORD: Final = 8
MAX_WORDS: Final = 4096


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum in a request."""

    value: int
    step: int
    reasoning: int  # words of it
    seed: str  # of the request

    def answer(self, shares: tuple[float, ...], seed: int, number: int) -> list[str]:
        """The words of the answer proper: right with the probability of its step, the last one's if there are fewer."""
        share = shares[min(self.step, len(shares) - 1)]
        right = random.Random(f"sum {seed} {number} {self.seed}").random() < share
        return ["The", "answer", "is", str(self.value if right else self.value + 1)]


def shares_of(text: str) -> tuple[float, ...]:
    """ "0.6,0.8" as numbers; none of an empty text. Raises ValueError: one is no probability."""
    found = tuple(float(part) for part in text.split(",")) if text else ()
    if not all(0.0 <= share <= 1.0 for share in found):
        raise ValueError(f"solves = {text}; shares must be from 0 to 1")
    return found


def sum_of(body: Mapping[str, Any], texts: list[str]) -> Sum | None:
    """The sum in the first message with one; None if there is none."""
    match = next((found for text in texts if (found := SUM.search(text)) is not None), None)
    if match is None:
        return None
    messages = body.get("messages")
    earlier = sum(isinstance(one, dict) and one.get("role") == "assistant" for one in messages) if isinstance(messages, list) else 0
    budget = _budget(body)
    step = earlier if budget is None else max(0, math.floor(math.log2(max(1, budget) / LEAST)))
    words = 0 if budget is None else min(MAX_WORDS, budget // PER_WORD)
    return Sum(value=int(match[1]) + int(match[2]), step=step, reasoning=words, seed=str(body.get("seed") or "")[:40])


def _budget(body: Mapping[str, Any]) -> int | None:
    """Tokens of reasoning; None if the request sets none."""
    thinking = body.get("thinking")
    found = thinking.get("budget_tokens") if isinstance(thinking, dict) else body.get("thinking_budget")
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None
