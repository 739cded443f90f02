"""How many reasoning steps may an answer take?

The table [evaluation.steps]: the numbers of steps that are compared, and how an engine gets them.  Each number is a level of one record with the
same items.  Samples and turns are nested: the largest number is requested, and its first k samples (turns) are those of a smaller one.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Model, flag, listed

Level = Annotated[int, Field(ge=1, le=10_000_000)]
MARGIN: Final = 0.02  # of the whole scale, where none was given
MOST_SAMPLES: Final = 128
MOST_TURNS: Final = 64
AGAIN: Final = "Check your answer step by step. If it is wrong, correct it. End with your final answer in the same form."


class Steps(Model):
    """Numbers of steps, and what a step is."""

    levels: Annotated[
        tuple[Level, ...],
        BeforeValidator(listed),
        flag("--steps", "1,2,4,8", "quality against so many steps, and the smallest number that is enough", evaluate=72),
    ] = Field((), description="Numbers of steps to compare, each once, two or more. Empty: none are compared.")
    what: Annotated[
        Literal["samples", "turns", "reasoning_tokens", "candidates"],
        flag("--step-is", "WHAT", "samples (a majority votes), turns (it checks its answer), or reasoning_tokens ({default})", evaluate=73),
    ] = Field(
        "samples",
        description="What a step is. samples: answers to an item, of which the majority counts. turns: another request, with the model's own answer "
        "and `again`. reasoning_tokens: a budget, sent as `field`. candidates: made by evaluation.best_of alone.",
    )
    field: Annotated[
        str, flag("--step-field", "KEY[=A,B]", "reasoning_tokens: the body's key for the budget, as thinking.budget_tokens", evaluate=74)
    ] = Field(
        "",
        description="Where what = reasoning_tokens: the key of the request's body that holds the budget, dots nest: thinking.budget_tokens (Anthropic), "
        "thinking_token_budget (vLLM), chat_template_kwargs.thinking_budget. With words instead of numbers, one for each level: "
        "reasoning_effort=low,medium,high.",
    )
    again: Annotated[str, flag("--step-prompt", "TEXT", "turns: the message after each answer", evaluate=76)] = Field(
        AGAIN, min_length=1, description="Where what = turns: the message after each answer. A condition."
    )

    @property
    def most(self) -> int:
        """The largest number of steps; 0 if none are compared."""
        return max(self.levels, default=0)

    @property
    def key(self) -> str:
        """The key of the request's body."""
        return self.field.partition("=")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """What is sent at each level instead of its number, in the levels' order; empty: the numbers are."""
        return tuple(self.field.partition("=")[2].split(",")) if "=" in self.field else ()

    def sent(self, level: int) -> int | str:
        """What the engine gets at a level."""
        return self.words[self.levels.index(level)] if self.words else level
