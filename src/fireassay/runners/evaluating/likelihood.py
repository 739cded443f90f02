"""How are items of the method loglikelihood put to engines?  One request for each choice; the answer is what all of them say.

An item with a choice that failed has failed: the most probable of the remaining choices would be another question's answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.errors import SpecError, refuse, refuse_any
from fireassay.quality.rows import PROPER
from fireassay.quality.scoring.items import Extraction, Item, Task
from fireassay.quality.scoring.likelihoods import METHOD, of_choice, of_text, right_choices, to_text
from fireassay.spec.rules.quality import unfit

REQUEST: Final = "loglikelihood"  # the task of the load
WHOLE: Final = "whole"  # nothing is extracted from log probabilities
UNSENT: Final = "unsent"


def checked(task: Task) -> Task:
    """The task with its references as indices.

    Raises:
        SpecError: an item is a conversation, or has no right choice.
    """
    if task.method != METHOD:
        return task
    if task.extractor != WHOLE:
        found = f"{task.extractor!r} for {task.name}, a task of the method {METHOD}"
        raise _wrong("evaluation.extractor", found, f"{WHOLE!r}: its answers are probabilities, in which nothing is found")
    talk = next((item for item in task.items if item.messages), None)
    if talk is not None:
        raise _wrong(f"item {talk.id}", "a conversation", f"a text in a task of the method {METHOD}: chat endpoints do not echo it")
    return replace(task, items=tuple(replace(item, references=right_choices(item)) for item in task.items))


def one_method(tasks: Sequence[Task], known: Sequence[str]) -> None:
    """Check that one load can put all of these tasks.

    Raises:
        SpecError: a method is unknown, or they have several.
    """
    methods = sorted({task.method for task in tasks})
    if unknown := [method for method in methods if method not in known]:
        raise _wrong("evaluation.task", f"a task of the method {', '.join(unknown)}", f"{' or '.join(known)}, in this release")
    if len(methods) > 1:
        raise _wrong("evaluation.task", f"tasks of the methods {' and '.join(methods)}", "tasks of one method in one evaluation")


def fitting(scores: Sequence[str], method: str, what: str) -> None:
    """Check that scores read what a method gives. A score of texts reads the index of the most probable choice.

    Raises:
        SpecError: a score of log probabilities for texts, of texts for programs.
    """
    refuse_any((problem for name in scores for problem in unfit("evaluation.metrics", name, method)), f"the scores of {what}")


def chosen(text: str | None) -> Extraction | None:
    """The index of the most probable choice, by the sum over its tokens; None without an answer."""
    if text is None:
        return None
    choices = of_text(text)
    best = max(range(len(choices)), key=lambda index: choices[index].logprob)  # the first of equal ones
    return Extraction(answer=str(best), rule="most_probable", begin=0, end=len(text))


def row(item: Item, choice: int) -> dict[str, Any]:
    """A row of a load's prompts."""
    return {"prompt": item.prompt, "documents": [item.prompt, item.choices[choice]]}


def folded(sent: Sequence[Mapping[str, Any]], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """One answer per item that was sent, of its requests with their `choice`: all of its log probabilities, or how the first failed."""
    by_item: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in sent:
        by_item.setdefault(row["item"], {})[row["choice"]] = row
    for key, choices in by_item.items():
        yield _answer(items[key], choices)


def _answer(item: Item, choices: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    missing = [index for index in range(len(item.choices)) if index not in choices]
    failed = [row["status"] for _, row in sorted(choices.items()) if row["status"] != PROPER]
    empty = [index for index, row in choices.items() if row["status"] == PROPER and not row["logprobs"]]
    first = choices[min(choices)]
    status = failed[0] if failed else UNSENT if missing else "malformed" if empty else PROPER
    entries = (
        [of_choice(item.prompt, item.choices[index], row["logprobs"], row["request"]) for index, row in sorted(choices.items())]
        if status == PROPER
        else None
    )
    text = None if entries is None else to_text(entries)
    return {**first, "status": status, "text": text, "finish_reason": None}


def _wrong(where: str, found: str, allowed: str, fix: str = "") -> SpecError:
    return refuse(where, found, allowed, fix, source="the evaluation")
