"""What does an evaluation specify?

The section [evaluation]: what is asked (a task, or files of answers that exist already), how an answer is found in a text, and which
scores it gets.  Everything here is a condition: records that differ in it are not compared.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from fireassay.spec.model import NAME_PATTERN, Model, Words, flag, listed, option, plain_option
from fireassay.spec.sections.given_scores import BestOf, GivenScores
from fireassay.spec.sections.judge import Judge
from fireassay.spec.sections.ratings import Ratings
from fireassay.spec.sections.steps import Steps

Option = str | int | float | bool
SampleCount = Annotated[int, Field(ge=1, le=1000)]
MAX_NAME_LENGTH: Final = 80  # of a file's answers: names of models and their quantization are long
NAMED_FILE = re.compile(r"(?:([A-Za-z0-9][A-Za-z0-9._-]*)=)?(.*)", re.DOTALL)


class AnswerFile(Model):
    """A file of answers; its answers are one configuration."""

    name: str = Field(
        min_length=1, max_length=MAX_NAME_LENGTH, pattern=NAME_PATTERN, description="Name of these answers in configurations and reports."
    )
    path: str = Field(min_length=1, description="JSONL or CSV, one answer per line, relative to the experiment's file.")
    side: str = Field("", description="With fields.side: the value of that field in these answers' lines; other lines are not read.")


class Fields(Model):
    """The fields of an answer file's rows."""

    id: Annotated[str, flag("--id", "NAME", "field that identifies an item in every file (the row's number)", score=40)] = Field(
        "", description="The field that identifies an item, the same in every file. Default: the row's number."
    )
    answer: Annotated[str, flag("--answer", "NAME", "field of the answer ({default})", score=30)] = Field(
        "answer", min_length=1, description="The field of the answer. null, or no such field: nothing was answered, which is never wrong."
    )
    image: Annotated[str, flag("--image", "NAME", "field of an image's file, which is the answer instead of a text", score=32)] = Field(
        "",
        description="The field of an image's path, relative to the folder of the file of answers (or a data URL): the image is the answer. Nothing is "
        "fetched, and nothing outside of that folder is read. It is to show the reference, or without a field named as such the prompt. "
        "null: missing. Default: answers are texts.",
    )
    reference: Annotated[str, flag("--reference", "NAME", "field of the reference: a text, or a list of them ({default})", score=20)] = (
        Field("reference", min_length=1, description="The field of the reference: a text, or a list of equally good ones.")
    )
    prompt: str = Field("prompt", min_length=1, description="The field of the prompt, if there is one; only shown.")
    side: Annotated[str, flag("--side", "NAME", "field of one file whose values are the sides, as model", score=42)] = Field(
        "", description="The field that tells the sides of one file apart: each of `answers` names its value as `side`."
    )
    cluster: Annotated[str, flag("--cluster", "NAME", "field that items share which depend on each other (a passage)", score=50)] = Field(
        "", description="The field whose value items share that may be lost together: a passage, a subject, a template."
    )
    weight: Annotated[str, flag("--weight", "NAME", "field of an item's weight", score=70)] = Field(
        "", description="The field of an item's weight. Default: all count alike."
    )
    groups: Annotated[Words, flag("--group", "NAME", "field whose values are scored apart; may be repeated", many=True, score=60)] = Field(
        (),
        description="Fields whose values are scored apart, as subgroups: language, dialect, difficulty. A list puts an item into several.",
    )


class Evaluation(Model):
    """Items that are asked, and scores of the answers."""

    task: Annotated[str, flag("--task", "NAME", "a layout (mmlu, gsm8k, glue, squad ...) or an own task's TOML file", evaluate=10)] = Field(
        "", description="What is asked: the name of a file in fireassay/tasks, or the path of an own task's TOML file."
    )
    data: Annotated[str, flag("--data", "PATH", "the file or folder with the task's data; nothing is downloaded", evaluate=20)] = Field(
        "", description="The file or folder with the task's data, relative to the experiment's file. Nothing is downloaded."
    )
    task_options: Annotated[
        dict[str, Option],
        flag(
            "--task-option", "NAME=VALUE", "an option of the layout, as shots=5; may be repeated", read=plain_option, many=True, evaluate=80
        ),
    ] = Field(default_factory=dict, description="Options of the layout, as shots = 5.")
    limit: Annotated[int | None, flag("--limit", "N", "ask N items of each task only, a random sample, always the same", evaluate=90)] = (
        Field(
            None,
            ge=1,
            description="Ask so many items of each task only: those with the smallest SHA-256 of seed 0 and id, in the file's order, so that "
            "an ordered file is sampled evenly and equal limits ask equal items. A condition: another limit is another task.",
        )
    )
    first: Annotated[bool, flag("--first", "", "with --limit: the first N items instead of a random sample", evaluate=92)] = Field(
        False, description="Whether `limit` takes the first items of a file instead of a random sample. A condition."
    )
    perturb: Annotated[
        Words, flag("--perturb", "A,B", "ask every item again changed: typos, lower_case, spaces, contractions", evaluate=95)
    ] = Field((), description="Changes of the question, each asked beside the original, as in HELM's robustness; they are subgroups.")
    answers: Annotated[tuple[AnswerFile, ...], BeforeValidator(listed)] = Field(
        (), description='Files of answers that exist already, for workload.runner = "answers".'
    )
    fields: Fields = Fields()
    steps: Steps = Steps()
    given: GivenScores | None = Field(None, description="Scores that another program computed, in fields of the files.")
    best_of: BestOf | None = Field(None, description="Choice of the best of several candidates for each item.")
    ratings: Ratings | None = Field(None, description="What people said of the answers, instead of the answers themselves.")
    judge: Judge | None = Field(None, description="A model that judges the answers.")
    metrics: Annotated[
        Words,
        flag("--metric", "A,B", "scores, the first decides ({default})", default=("exact_match",), score=10),
        flag("--metric", "A,B", "scores, the first decides (the task's own)", evaluate=100),
    ] = Field(
        (), description="Scores by name, as declared in fireassay/quality/scoring/metrics; the first decides. Default: the task's own."
    )
    options: Annotated[
        dict[str, Option],
        flag("--option", "METRIC.NAME=VALUE", "an option of a score; may be repeated", read=option, many=True, score=90, evaluate=110),
    ] = Field(default_factory=dict, description='Options of scores, as "rouge_l.stem" = true.')
    send_stop: bool = Field(
        True,
        description="Whether engines get the task's stop strings and end there; answers are cut there in any case. false: for an engine that "
        "would end its reasoning at them.",
    )
    k: Annotated[
        tuple[SampleCount, ...],
        BeforeValidator(listed),
        flag("-k", "1,10", "pass@k of programs, sampled at temperature 0.8 unless said", evaluate=75),
    ] = Field((1,), min_length=1, description="Tasks of code: pass@k for each k. Needs as many repetitions, and a temperature above 0.")
    extractor: Annotated[
        str,
        flag("--extract", "NAME", "how the answer is found in the text (all of it)", score=80),
        flag("--extract", "NAME", "how the answer is found in the text (the task's own)", evaluate=120),
    ] = Field(
        "",
        description="How the answer is found in a text: its name, as declared in fireassay/quality/scoring/extractors, or regex: and a pattern of your "
        "own, whose last match counts, and of it the first group. Default: the task's own; for "
        "files the whole text.",
    )
    majority: Annotated[
        bool, flag("--majority", "", "an item's answer is the one that most of its repetitions give (no)", score=103, evaluate=122)
    ] = Field(
        False,
        description="Whether the answer to an item is the one that most of its repetitions give (self-consistency), instead of the mean of their scores. "
        "Of equally frequent ones the first counts.",
    )
    common: Annotated[bool, flag("--common", "", "compare the items that every file has; others are left out (no)", score=45)] = Field(
        False, description="Files of answers: whether items that a file lacks are left out everywhere, instead of refused. Needs fields.id."
    )
    own_references: Annotated[
        bool,
        flag(
            "--own-references", "", "the references are the first side's own answers: a score is agreement with it", score=102, evaluate=61
        ),
    ] = Field(
        False,
        description="Whether the references were made by the reference side itself, as recorded answers are. Its highest score on every item then "
        "says nothing of how hard they are, and a candidate that gives them all again is held.",
    )
    flips: Annotated[
        float, flag("--flips", "P", "share of items expected to change between two sides, for the plan ({default:g})", evaluate=62)
    ] = Field(
        0.1,
        ge=0.0,
        le=1.0,
        description="The share of items whose score is expected to change between two sides although none is better: for the plan of "
        "how many items the margin needs. The reference asked twice shows it.",
    )
    alike: float = Field(
        0.1,
        ge=0.0,
        le=1.0,
        description="How far the items of a cluster are expected to change together (intraclass correlation), for the plan.",
    )
    explore: Annotated[
        bool, flag("--explore", "", "evaluate although the items are too few for the margin; the verdict may stay undecided", evaluate=64)
    ] = Field(False, description="Whether to evaluate although the items are too few for the margin. Without it that is refused.")
    divergence: Annotated[
        int,
        flag(
            "--divergence", "N", "score N answers of the reference by every engine, and name one that computes otherwise (0)", evaluate=66
        ),
    ] = Field(
        0,
        ge=0,
        description="How many answers of the reference every engine scores afterwards, token by token (teacher forcing): the tail of the "
        "divergence tells a wrong weight from rounding. Needs two engines or replicas that are all folders in this process, or "
        "all echo log probabilities. Replicas that assay starts are asked one by one, past their router. 0: none.",
    )
    resamples: int = Field(
        2000, ge=200, le=1_000_000, description="Resamples of items behind the interval of a score that is no mean, such as BLEU."
    )
    most_failed: float = Field(
        0.01,
        ge=0.0,
        lt=1.0,
        description="Largest share of items without an answer (failed requests, missing answers). Above it the record is INVALID: a "
        "failure is neither right nor wrong.",
    )


def answer_file(text: str, index: int) -> dict[str, str]:
    """NAME=PATH or PATH as a table of `answers`; the name defaults to the file's, made plain."""
    name, path = NAMED_FILE.fullmatch(text).groups()  # type: ignore[union-attr]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.rstrip("/").rpartition("/")[2]).rsplit(".", 1)[0].strip("-._")[:MAX_NAME_LENGTH]
    return {"name": name or stem or f"answers{index + 1}", "path": path}
