"""Which rows do the tasks of SuperGLUE hold?  JSONL files train, val and test in the folders BoolQ, CB, COPA, MultiRC, ReCoRD, RTE, WiC, WSC;
the diagnostics AX-b and AX-g are one file each.

Fields as in the official files and in huggingface/datasets (`datasets/super_glue/super_glue.py`); prompts are those of
lm-evaluation-harness (`tasks/super_glue/*/default.yaml`), but for COPA and ReCoRD, which there cannot be generated.  Official metrics:
accuracy; CB also F1 as the mean over classes; ReCoRD exact match and token F1, the best over all aliases; MultiRC F1 over answers (F1a) and
exact match over questions, which are keyed by paragraph and question; AX-b Matthews' correlation, AX-g accuracy and gender parity.  Items
about one passage are a cluster, and so are the sides of a pair.

How is a row of each SuperGLUE task put to a model?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import classes, files, prompts
from fireassay.quality.tasks.support.classes import Kind, Read
from fireassay.quality.tasks.support.prompts import LETTERS, Example

_ENTAILS: Final = {"entailment": "True", "not_entailment": "False"}
NO_YES: Final = {False: "no", True: "yes"}
_CONNECTORS: Final = {"cause": "because", "effect": "therefore"}
_COPA_ASKED: Final = {"cause": "What was the cause?", "effect": "What happened as a result?"}


def _boolq(row: files.SourceRow) -> str:
    return f"{files.text_of(row, 'passage')}\nQuestion: {files.text_of(row, 'question')}?\nAnswer:"


def _cb(row: files.SourceRow) -> str:
    return f"{files.text_of(row, 'premise')}\nQuestion: {files.text_of(row, 'hypothesis')}. True, False, or Neither?\nAnswer:"


def _rte(row: files.SourceRow) -> str:
    return f"{files.text_of(row, 'premise')}\nQuestion: {files.text_of(row, 'hypothesis')} True or False?\nAnswer:"


def _axb(row: files.SourceRow) -> str:
    return f"{files.text_of(row, 'sentence1')}\nQuestion: {files.text_of(row, 'sentence2')} True or False?\nAnswer:"


def _wic(row: files.SourceRow) -> str:
    first, second, word = (files.text_of(row, name) for name in ("sentence1", "sentence2", "word"))
    return f"Sentence 1: {first}\nSentence 2: {second}\nQuestion: Is the word '{word}' used in the same way in the two sentences above?\nAnswer:"


def _wsc(row: files.SourceRow) -> str:
    """The pronoun between asterisks; places are counted in words (`span2_index`)."""
    target = files.value(row, "target")
    inner = files.SourceRow(where=f"{row.where}, target", number=row.number, values=target if isinstance(target, dict) else {})
    noun, pronoun, index = files.text_of(inner, "span1_text"), files.text_of(inner, "span2_text"), files.value(inner, "span2_index")
    words, length = files.text_of(row, "text").split(), len(pronoun.split())
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(words):
        raise files.wrong(inner.where, f"{files.shown(index)} in 'span2_index'", f"the number of a word, from 0 to {len(words) - 1}")
    marked = " ".join([*words[:index], f"*{pronoun}*", *words[index + length :]])
    return f'Passage: {marked}\nQuestion: In the passage above, does the pronoun "*{pronoun}*" refer to "*{noun}*"?\nAnswer:'


def _multirc(row: files.SourceRow) -> str:
    paragraph, question, answer = (files.text_of(row, name) for name in ("paragraph", "question", "answer"))
    return f"{paragraph}\nQuestion: {question}\nProposed answer: {answer}\nIs the answer correct?\nAnswer:"


def _nothing(_: files.SourceRow) -> str:
    raise AssertionError("these rows have prompts of their own")


KINDS: Final = (
    Kind(name="boolq", folder="BoolQ", labels=NO_YES, metrics=("accuracy",), prompt=_boolq, template="{passage}\nQuestion: {question}?\nAnswer:"),
    Kind(
        name="cb", folder="CB", labels={"entailment": "True", "contradiction": "False", "neutral": "Neither"},
        metrics=("accuracy", "f1_macro"), prompt=_cb, template="{premise}\nQuestion: {hypothesis}. True, False, or Neither?\nAnswer:",
    ),
    Kind(name="copa", folder="COPA", labels={0: "A", 1: "B"}, metrics=("accuracy",), prompt=_nothing, template="{premise} {question}: {choice1} | {choice2}"),
    Kind(
        name="multirc", folder="MultiRC", labels={0: "no", 1: "yes"}, metrics=("f1_binary", "exact_questions"), prompt=_multirc, positive="1",
        template="{paragraph}\nQuestion: {question}\nProposed answer: {answer}\nIs the answer correct?\nAnswer:",
    ),
    Kind(name="record", folder="ReCoRD", labels={}, metrics=("squad_exact_match", "f1"), prompt=_nothing,
        template="{passage}\n\n{query}\nQuestion: Who or what is @placeholder?\nAnswer:"),
    Kind(
        name="rte", folder="RTE", labels=_ENTAILS, metrics=("accuracy",), prompt=_rte,
        template="{premise}\nQuestion: {hypothesis} True or False?\nAnswer:",
    ),
    Kind(
        name="wic", folder="WiC", labels=NO_YES, metrics=("accuracy",), prompt=_wic,
        template="Sentence 1: {sentence1}\nSentence 2: {sentence2}\nQuestion: Is the word '{word}' used in the same way in the two sentences above?\nAnswer:",
    ),
    Kind(
        name="wsc", folder="WSC", labels=NO_YES, metrics=("accuracy",), prompt=_wsc,
        template='Passage: {text}\nQuestion: In the passage above, does the pronoun "*{span2_text}*" refer to "*{span1_text}*"?\nAnswer:',
    ),
    Kind(
        name="axb", folder="AX-b", labels=_ENTAILS, metrics=("mcc",), prompt=_axb, files=("AX-b",),
        template="{sentence1}\nQuestion: {sentence2} True or False?\nAnswer:",
    ),
    Kind(
        name="axg", folder="AX-g", labels=_ENTAILS, metrics=("accuracy", "gender_parity"), prompt=_rte, files=("AX-g",),
        template="{premise}\nQuestion: {hypothesis} True or False?\nAnswer:",
    ),
)  # fmt: skip


def examples_of(kind: Kind, row: files.SourceRow, form: str) -> Iterator[Example]:
    """The examples of a row: one, or one for each answer (MultiRC) or query (ReCoRD)."""
    if kind.called("multirc"):
        yield from _of_multirc(kind, row, form)
    elif kind.called("record"):
        yield from _of_record(row, form)
    elif kind.called("copa"):
        yield _of_copa(kind, row, form)
    elif kind.called("axg"):
        pair = files.text_of(row, "pair_id")
        yield classes.example(kind, row, form, f"{pair}/{files.text_of(row, 'idx')}", pair)
    else:
        cluster = str(hash_of(row.values["passage"])) if kind.called("boolq") and "passage" in row.values else None
        yield classes.example(kind, row, form, files.text_of(row, "idx"), cluster)


def hash_of(text: object) -> str:
    """A short name for a passage, the same in every run."""
    from hashlib import sha256

    return sha256(str(text).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _part(row: files.SourceRow, name: str, where: str) -> files.SourceRow:
    value = files.value(row, name)
    if not isinstance(value, dict):
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", "an object")
    return files.SourceRow(where=f"{row.where}, {where}", number=row.number, values=value)


def _parts(row: files.SourceRow, name: str) -> Iterator[files.SourceRow]:
    value = files.value(row, name)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", "a list of objects")
    for index, one in enumerate(value):
        yield files.SourceRow(where=f"{row.where}, {name}[{index}]", number=row.number, values=one)


def _of_multirc(kind: Kind, row: files.SourceRow, form: str) -> Iterator[Example]:
    paragraph, passage = files.text_of(row, "idx"), _part(row, "passage", "passage")
    for question in _parts(passage, "questions"):
        for answer in _parts(question, "answers"):
            key = f"{paragraph}/{files.text_of(question, 'idx')}/{files.text_of(answer, 'idx')}"
            values: Mapping[str, Any] = {
                "paragraph": files.text_of(passage, "text"),
                "question": files.text_of(question, "question"),
                "answer": files.text_of(answer, "text"),
                "label": answer.values.get("label"),
            }
            yield classes.example(kind, files.SourceRow(where=answer.where, number=row.number, values=values), form, key, cluster=paragraph)


def _of_copa(kind: Kind, row: files.SourceRow, form: str) -> Example:
    premise, relation = files.text_of(row, "premise").strip(), files.text_of(row, "question")
    if relation not in _CONNECTORS:
        raise files.wrong(row.where, f"{files.shown(relation)} in 'question'", "cause or effect", files.did_you_mean(relation, _CONNECTORS))
    texts = [files.text_of(row, name).strip() for name in ("choice1", "choice2")]
    if form == "generation":
        prompt = f"{premise}\n{_COPA_ASKED[relation]}\nA. {texts[0]}\nB. {texts[1]}\nAnswer:"
        choices: tuple[str, ...] = (" A", " B")
    else:
        prompt = f"{premise[:-1]} {_CONNECTORS[relation]}"
        choices = tuple(f" {text[0].lower()}{text[1:]}" for text in texts)
    label = row.values.get("label")
    plain = classes.example(replace(kind, prompt=lambda _: prompt), row, form, files.text_of(row, "idx"))
    right = LETTERS[label] if form == "generation" and isinstance(label, int) else str(label)
    return Example(
        id=plain.id,
        prompt=prompt,
        answer=f" {right}" if form == "generation" else choices[int(right)],
        references=(right,),
        choices=choices,
    )


def _of_record(row: files.SourceRow, form: str) -> Iterator[Example]:
    passage, key = _part(row, "passage", "passage"), files.text_of(row, "idx")
    text = files.text_of(passage, "text")
    entities = sorted({text[int(files.value(one, "start")) : int(files.value(one, "end")) + 1] for one in _parts(passage, "entities")})
    shown, *highlights = text.strip().split("\n@highlight\n")
    before = f"{shown}\n\n" + "".join(f"  - {highlight}.\n" for highlight in highlights)
    for query in _parts(row, "qas"):
        if "answers" not in query.values:
            raise files.wrong(
                query.where, "no field 'answers': the labels of this split are hidden", "a split with labels", "Use split = val."
            )
        answers = tuple(dict.fromkeys(files.text_of(one, "text") for one in _parts(query, "answers")))
        question, name = files.text_of(query, "query"), f"{key}/{files.text_of(query, 'idx')}"
        if form == "generation":
            prompt = f"{before}\n{question}\nQuestion: Who or what is @placeholder?\nAnswer:"
            yield Example(id=name, prompt=prompt, answer=f" {answers[0]}" if answers else "", references=answers, cluster=key)
            continue
        right = tuple(str(index) for index, entity in enumerate(entities) if entity in answers)
        if not right:
            raise files.wrong(
                query.where, "answers that are none of the passage's entities", "one of them at least", "Use form = generation."
            )
        choices = tuple(f"  - {question}".replace("@placeholder", entity) for entity in entities)
        yield Example(id=name, prompt=before, answer=choices[int(right[0])], references=right, choices=choices, cluster=key)


OPTIONS: Final[Mapping[str, files.Option]] = {"task": "", "split": "val", "form": "generation", "shots": 0}
CHOICES: Final = {"split": ("train", "val", "test"), "form": classes.FORMS}
CLUSTERS: Final = {"multirc": "passage", "record": "passage", "boolq": "passage", "axg": "pair"}


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The tasks of SuperGLUE's folder, or of one task's."""
    chosen = files.checked("superglue", given, OPTIONS, CHOICES)
    return tuple(_task(kind, home, chosen) for kind, home in classes.homes("SuperGLUE", path, KINDS, chosen["task"]))


def _task(kind: Kind, home: Path, chosen: Mapping[str, files.Option]) -> Task:
    digests: dict[str, str] = {}
    before, shots = "", int(chosen["shots"])
    if shots:
        before = prompts.head(_read(kind, home, "train", chosen, digests), shots, f"{kind.folder}/train.jsonl")
    examples = _read(kind, home, str(chosen["split"]), chosen, digests)
    made = Read(name=f"superglue/{kind.name}", examples=examples, digests=digests, before=before, cluster=CLUSTERS.get(kind.name, ""))
    task = classes.task(kind, made, chosen)
    if kind.called("record"):
        if chosen["form"] == "choices":
            return replace(task, metrics=("accuracy",), chance=prompts.guess(examples))
        return replace(task, extractor="first_line", stop=("\n",), max_tokens=32)
    if kind.called("copa") and chosen["form"] == "generation":
        return replace(task, extractor="choice_letter")
    return task


def _read(kind: Kind, home: Path, split: str, chosen: Mapping[str, files.Option], digests: dict[str, str]) -> list[Example]:
    split = split if split == "train" else kind.files[0].format(split=split)  # a diagnostic is one file
    name = f"{kind.folder}/{split}.jsonl"
    text = files.examples(home / f"{split}.jsonl", int(chosen["shots"]) if split == "train" else 0, name)
    digests[name] = text.sha256
    examples = [example for row in files.json_lines(text) for example in examples_of(kind, row, str(chosen["form"]))]
    if not examples:
        raise files.wrong(name, "no question", "at least one")
    prompts.distinct(examples, name)
    return examples


FORMAT = Format(
    name="superglue",
    title="SuperGLUE",
    layout="SuperGLUE's folder (BoolQ, CB, COPA ...) or one task's, with val.jsonl",
    read=read,
    options=OPTIONS,
)
