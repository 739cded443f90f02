"""What is asked, and what was found in the answer?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Message = Mapping[str, str]  # role and content
Method = Literal["generation", "loglikelihood", "code", "images"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One question of a task, as it is put to a model."""

    id: str  # unique within its task, the same in every run on the same data
    prompt: str  # the text sent; for a conversation empty, see `messages`
    messages: tuple[Message, ...] = ()
    references: tuple[str, ...] = ()  # acceptable answers; for choices the right ones' letters or indices
    choices: tuple[str, ...] = ()  # multiple choice: the continuations, as scored, leading space included
    cluster: str | None = None  # items with one label share content (a passage, a subject, a template)
    groups: Mapping[str, str | tuple[str, ...]] = field(
        default_factory=dict
    )  # labels for subgroup scores: {"dialect": "AAE", "skills": ("a", "b")}
    weight: float = 1.0
    entry_point: str = ""  # code: the function to define
    test: str = ""  # code: the source that defines check(candidate)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """What an extractor found: `text[begin:end]` by a named rule, and the normalised answer; None is NO_ANSWER."""

    answer: str | None
    rule: str  # "hashes", "last_number", ...; "none" for NO_ANSWER
    begin: int = 0
    end: int = 0


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """A named and versioned way to find the answer in a text, with a version that grows with every change of results."""

    name: str
    version: int
    title: str
    # (text, choices) -> what was found; must not raise, whatever the text
    extract: Callable[[str, Sequence[str]], Extraction]

    @property
    def signature(self) -> str:
        """ "extract:last_number@1"."""
        return f"extract:{self.name}@{self.version}"


@dataclass(frozen=True, kw_only=True)
class Task:
    """The items of one task with everything that decides their scores."""

    name: str  # "mmlu/anatomy"
    items: tuple[Item, ...]
    metrics: tuple[str, ...]  # names of scoring metrics; the first decides
    method: Method
    extractor: str = "whole"
    stop: tuple[str, ...] = ()
    max_tokens: int = 256
    template: str = ""  # the prompt's template with its few-shot part, of which the digest is a condition
    shots: int = 0
    chance: float | None = None  # score of a guesser without knowledge
    files: Mapping[str, str] = field(default_factory=dict)  # file name -> SHA-256
    sample: str = ""  # how the items were chosen, if they are not all
    cluster: str = ""  # what the clusters are: "subject", "passage"; empty: items are taken as independent
    grouping: tuple[str, int] | None = None  # a field of the data that groups items though no cluster was named, and its number of groups
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # of the layout, as used: all are conditions


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a copy of a benchmark holds besides its questions: answers of several models, and numbers that were published with them."""

    source: Callable[..., Any]  # (folder or file) -> `fireassay.quality.tasks.answer_file.Source`, a row for each answer
    fields: Mapping[str, Any]  # as in evaluation.fields: id, side, prompt, groups
    scores: Mapping[str, str]  # field of a number -> its scale, "1,5"; the first decides
    image: str = ""  # the field of an image's path, for scores that read images


@dataclass(frozen=True, kw_only=True)
class Format:
    """A layout of benchmark files: one file in `fireassay.quality.tasks` with one FORMAT."""

    name: str  # "mmlu": the file's stem
    title: str
    layout: str  # one line: which files, which columns
    # (folder or file, options) -> its tasks; raises SpecError naming file, line and column
    read: Callable[..., Sequence[Task]]
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # every option with its default
    held: Held | None = None
    request: str = ""  # the task of its requests (fireassay/traffic/tasks), if they are not those of text
