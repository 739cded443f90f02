"""Which questions does MMLU hold?  `test/<subject>_test.csv` and `dev/<subject>_dev.csv`, no header: question, A, B, C, D, answer.

The prompt is that of the authors (hendrycks/test, `evaluate.py`) and of lm-evaluation-harness (`tasks/mmlu/default`): a sentence with the
subject, the rows of dev in file order, the question, "A. ..." to "D. ...", "Answer:".  Three public variants rank models differently:

    letter       log-likelihood of " A" to " D"
    text         log-likelihood of the choices themselves; the prompt does not list them
    generation   the model writes, and the letter is extracted

Subjects are the clusters; subject and category are groups.

To which category does a subject of MMLU belong?  As in hendrycks/test, `categories.py`: STEM, humanities, social sciences, other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.tasks.support import files, prompts
from fireassay.quality.tasks.support.prompts import Example
from fireassay.spec.explain import did_you_mean, shown

_SUBJECTS: Final = {
    "humanities": """
        formal_logic high_school_european_history high_school_us_history high_school_world_history international_law
        jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory professional_law world_religions
    """,
    "other": """
        business_ethics clinical_knowledge college_medicine global_facts human_aging management marketing medical_genetics
        miscellaneous nutrition professional_accounting professional_medicine virology
    """,
    "social sciences": """
        econometrics high_school_geography high_school_government_and_politics high_school_macroeconomics
        high_school_microeconomics high_school_psychology human_sexuality professional_psychology public_relations
        security_studies sociology us_foreign_policy
    """,
    "stem": """
        abstract_algebra anatomy astronomy college_biology college_chemistry college_computer_science college_mathematics
        college_physics computer_security conceptual_physics electrical_engineering elementary_mathematics high_school_biology
        high_school_chemistry high_school_computer_science high_school_mathematics high_school_physics high_school_statistics
        machine_learning
    """,
}
CATEGORIES: Final = {subject: category for category, subjects in _SUBJECTS.items() for subject in subjects.split()}


OPTIONS: Final[Mapping[str, files.Option]] = {"variant": "generation", "shots": 5, "split": "test", "subjects": "", "max_tokens": 32}
CHOICES: Final = {"variant": ("letter", "text", "generation"), "split": ("test", "val", "dev")}
COLUMNS: Final = ("question", "A", "B", "C", "D", "answer")
INTRODUCTION: Final = "The following are multiple choice questions (with answers) about {subject}.\n\n"
LETTERS: Final = "ABCD"


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """One task of all subjects, or of those that `subjects` names, in alphabetical order."""
    chosen = files.checked("mmlu", given, OPTIONS, CHOICES)
    digests: dict[str, str] = {}
    items: list[Item] = []
    heads: list[str] = []
    for subject in _subjects(path, chosen):
        before = INTRODUCTION.format(subject=subject.replace("_", " "))
        if shots := int(chosen["shots"]):
            before += prompts.head(_examples(path, subject, "dev", chosen, digests), shots, f"dev/{subject}_dev.csv")
        heads.append(before)
        items += [prompts.item(example, before) for example in _examples(path, subject, str(chosen["split"]), chosen, digests)]
    generation = chosen["variant"] == "generation"
    task = Task(
        name="mmlu",
        items=tuple(items),
        metrics=("exact_match",) if generation else ("acc", "acc_norm"),
        method="generation" if generation else "loglikelihood",
        extractor="choice_letter" if generation else "whole",
        max_tokens=int(chosen["max_tokens"]),
        template="".join(heads) + _question_text("{question}", ("{A}", "{B}", "{C}", "{D}"), chosen),
        shots=int(chosen["shots"]),
        chance=0.25,
        files=digests,
        cluster="subject",
        options=chosen,
    )
    return (task,)


def _subjects(path: Path, chosen: Mapping[str, files.Option]) -> Sequence[str]:
    split = str(chosen["split"])
    folder, end = path / split, f"_{split}.csv"
    if not folder.is_dir():
        raise files.wrong(
            str(path), f"no folder {split!r} in it", "the folder that holds dev and test", "Give the folder data of the authors' data.tar."
        )
    known = sorted(file.name.removesuffix(end) for file in folder.iterdir() if file.name.endswith(end))
    if not known:
        raise files.wrong(str(folder), f"no file that ends with {end}", f"<subject>{end}, as anatomy{end}")
    wanted = files.listed(chosen["subjects"]) or known
    for subject in wanted:
        if subject not in known:
            where = "evaluation.task_options.subjects"
            raise files.wrong(
                where, shown(subject), f"a subject with a file in {split}, of which there are {len(known)}", did_you_mean(subject, known)
            )
    return sorted(set(wanted))


def _examples(path: Path, subject: str, split: str, chosen: Mapping[str, files.Option], digests: dict[str, str]) -> list[Example]:
    name = f"{split}/{subject}_{split}.csv"
    text = files.examples(path / name, int(chosen["shots"]) if split == "dev" else 0, name)
    digests[name] = text.sha256
    return [_example(row, subject, chosen) for row in files.table(text, header=COLUMNS)]


def _example(row: files.SourceRow, subject: str, chosen: Mapping[str, files.Option]) -> Example:
    answer = str(row.values["answer"]).strip()
    if len(answer) != 1 or answer not in LETTERS:
        fix = "The layout has no header line; remove it." if row.number == 1 and answer.lower() == "answer" else ""
        raise files.wrong(f"{row.where}, column 6", shown(answer), "A, B, C or D", fix)
    texts = tuple(files.text_of(row, letter).strip() for letter in LETTERS)
    right, variant = LETTERS.index(answer), chosen["variant"]
    return Example(
        id=f"{subject}/{row.number}",
        prompt=_question_text(files.text_of(row, "question").strip(), texts, chosen),
        answer=f" {texts[right] if variant == 'text' else answer}",
        references=(answer if variant == "generation" else str(right),),
        choices=tuple(f" {text}" for text in (texts if variant == "text" else LETTERS)),
        cluster=subject,
        groups={"subject": subject, "category": CATEGORIES.get(subject, "other")},
    )


def _question_text(question: str, texts: Sequence[str], chosen: Mapping[str, files.Option]) -> str:
    listed = "" if chosen["variant"] == "text" else "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, texts, strict=True))
    return f"{question}\n{listed}Answer:"


FORMAT = Format(
    name="mmlu",
    title="MMLU",
    layout="a folder with test/<subject>_test.csv and dev/<subject>_dev.csv: question, A, B, C, D, answer, without header",
    read=read,
    options=OPTIONS,
)
