"""How do examples become prompts?

One example is a prompt that ends before its answer ("Question: ...
Answer:") and the answer with the space before it.  Few-shot examples
come first, in the file's order, each followed by a blank line, as in lm-evaluation-harness (`fewshot_delimiter`, `target_delimiter`).

In a task of choices (method "loglikelihood") the continuations carry their leading space, and a reference is the index of a right choice
as text: "0" for the first.  In a task of generation it is what the extractor has to give.

Which items of a task are asked, if not all?  Those with the smallest SHA-256 of seed and id, in the file's order.

The first items of a file that is ordered (all capitals first) are another task than the whole.  A hash of the id draws alike on every machine, whatever
the order of the file; a smaller sample is part of a larger one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.tasks.support.files import wrong

SEED: Final = 0  # the same in every experiment, so that records compare


def sampled(task: Task, limit: int | None, *, first: bool = False) -> Task:
    """The task with at most that many items, and how they were chosen; `first`: those at the file's beginning."""
    if limit is None or limit >= len(task.items):
        return task
    if first:
        return replace(task, items=task.items[:limit], sample=f"the first {limit} of {len(task.items)}")
    lots = {item.id: sha256(f"{SEED}\n{item.id}".encode("utf-8", "surrogatepass")).digest() for item in task.items}
    drawn = set(sorted(lots, key=lots.__getitem__)[:limit])
    items = tuple(item for item in task.items if item.id in drawn)
    return replace(task, items=items, sample=f"{limit} of {len(task.items)} by SHA-256 of id, seed {SEED}")


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A question with its answers, in no form yet."""

    id: str
    prompt: str  # ends before the answer
    answer: str  # as few-shot examples show it, with the space before it
    references: tuple[str, ...]
    choices: tuple[str, ...] = ()
    cluster: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0
    messages: tuple[Mapping[str, str], ...] = ()


def head(examples: Sequence[Example], shots: int, where: str) -> str:
    """The few-shot part of a prompt: the first examples with their answers. Raises SpecError: there are fewer."""
    if len(examples) < shots:
        raise wrong(where, f"{len(examples)} examples", f"at least {shots}, for shots = {shots}", f"Use shots = {len(examples)} at most.")
    return "".join(f"{example.prompt}{example.answer}\n\n" for example in examples[:shots])


def item(example: Example, before: str = "") -> Item:
    """An example as it is put to a model; `before`: what stands in front of it."""
    return Item(
        id=example.id,
        prompt="" if example.messages else before + example.prompt,
        messages=example.messages,
        references=example.references,
        choices=example.choices,
        cluster=example.cluster,
        groups=dict(example.groups),
        weight=example.weight,
    )


def distinct(examples: Sequence[Example] | Sequence[Item], name: str) -> None:
    """Refuse two examples with one id: their answers could not be told apart. Raises SpecError: there are two."""
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            raise wrong(name, f"the id {example.id!r} twice", "each id once", "Remove one of the rows, or name another field as the id.")
        seen.add(example.id)


def guess(examples: Sequence[Example]) -> float | None:
    """The expected accuracy of a guesser; None if some example has no choices."""
    if not examples or not all(example.choices for example in examples):
        return None
    return sum(len(set(example.references)) / len(example.choices) for example in examples) / len(examples)
