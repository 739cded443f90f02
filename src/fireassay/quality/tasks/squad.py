"""Which questions does a SQuAD file hold?  v1.1 or v2.0: `data[].paragraphs[].qas[]` with id, question, answers and is_impossible.

The prompt is that of lm-evaluation-harness (its task squadv2): "Title: ...", "Background: ...", "Question: ...", "Answer:".  Where
a file has questions without an answer (v2.0), it says in addition that these are answered by the word "unanswerable", which is then the
reference; scores read it as the empty text that the official scorer compares.  Questions about one paragraph depend on each
other: they are a cluster, or those of a whole article with `cluster` = article.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import files, prompts
from fireassay.quality.tasks.support.prompts import Example

OPTIONS: Final[Mapping[str, files.Option]] = {"cluster": "paragraph", "shots": 0, "shots_from": "", "max_tokens": 48}
CHOICES: Final = {"cluster": ("paragraph", "article")}
METRICS: Final = ("squad_exact_match", "f1")
NONE: Final = "unanswerable"
RULE: Final = f"If the background does not answer the question, the answer is: {NONE}\n\n"


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The questions of a file in its order; `shots_from`: the file beside it with the examples."""
    chosen = files.checked("squad", given, OPTIONS, CHOICES)
    text = files.read(path)
    digests = {text.name: text.sha256}
    examples = _examples(text, str(chosen["cluster"]))
    prompts.distinct(examples, text.name)
    some = any(example.groups for example in examples)
    before, shots = RULE if some else "", int(chosen["shots"])
    if shots:
        if not chosen["shots_from"]:
            raise files.wrong("evaluation.task_options.shots_from", "nothing", "the file with the examples, as train-v1.1.json")
        train = files.examples(path.parent / str(chosen["shots_from"]), shots)
        digests[train.name] = train.sha256
        before += prompts.head(_examples(train, "paragraph"), shots, train.name)
    task = Task(
        name="squad",
        items=tuple(prompts.item(example, before) for example in examples),
        metrics=METRICS,
        method="generation",
        extractor="first_line",
        stop=("\n",),
        max_tokens=int(chosen["max_tokens"]),
        template=before + _prompt("{title}", "{context}", "{question}"),
        shots=shots,
        files=digests,
        cluster=str(chosen["cluster"]),
        options={**chosen, **({f"{metric}.none": NONE for metric in METRICS} if some else {})},
    )
    return (task,)


def _examples(text: files.Text, cluster: str) -> list[Example]:
    whole = files.parsed(text.name, text.text)
    examples = list(_questions(text.name, whole, cluster))
    if not examples:
        raise files.wrong(text.name, "no question", "data[].paragraphs[].qas[] with at least one")
    return examples


def _questions(name: str, whole: Any, cluster: str) -> Iterator[Example]:
    version_2 = any(qa.get("is_impossible") for _, _, _, qa in _walk(name, whole))
    for article, paragraph, where, qa in _walk(name, whole):
        title, context = article.get("title", ""), paragraph["context"]
        row = files.SourceRow(where=where, number=0, values=qa)
        impossible = bool(qa.get("is_impossible"))
        answers = () if impossible else _answers(row)
        label = where.partition(".paragraphs")[0] if cluster == "article" else where.partition(".qas")[0]
        yield Example(
            id=files.text_of(row, "id"),
            prompt=_prompt(str(title).replace("_", " "), context, files.text_of(row, "question").strip()),
            answer=f" {answers[0] if answers else NONE}",
            references=answers or (NONE,),
            cluster=label.removeprefix(f"{name}, "),
            groups={"answerable": "no" if impossible else "yes"} if version_2 else {},
        )


def _answers(row: files.SourceRow) -> tuple[str, ...]:
    """The distinct gold answers, in order."""
    listed = row.values.get("answers")
    texts: list[Any] = [one.get("text") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not texts or not all(isinstance(text, str) and text for text in texts):
        fix = "A file without answers cannot be scored; give the dev file."
        raise files.wrong(row.where, f"{files.shown(listed)} in 'answers'", "a list of at least one {text, answer_start}", fix)
    return tuple(dict.fromkeys(texts))


def _walk(name: str, whole: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], str, Mapping[str, Any]]]:
    """Article, paragraph, place and question."""
    for index, article in enumerate(_list(name, whole, "data")):
        at = f"{name}, data[{index}]"
        for second, paragraph in enumerate(_list(at, article, "paragraphs")):
            inner = f"{at}.paragraphs[{second}]"
            questions = _list(inner, paragraph, "qas")
            if not isinstance(paragraph.get("context"), str):
                raise files.wrong(inner, f"{files.shown(paragraph.get('context'))} in 'context'", "a text")
            for third, qa in enumerate(questions):
                if not isinstance(qa, dict):
                    raise files.wrong(f"{inner}.qas[{third}]", files.shown(qa), "an object with id, question and answers")
                yield article, paragraph, f"{inner}.qas[{third}]", qa


def _list(where: str, value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else value
    if not isinstance(value, dict) or not isinstance(found, list):
        raise files.wrong(
            where, f"{files.shown(found)} for {key!r}", f"an object with a list {key!r}", "Is this the official SQuAD layout?"
        )
    return found


def _prompt(title: str, context: str, question: str) -> str:
    return f"Title: {title}\n\nBackground: {context}\n\nQuestion: {question}\n\nAnswer:"


FORMAT = Format(
    name="squad", title="SQuAD", layout="a JSON file of SQuAD v1.1 or v2.0: data[].paragraphs[].qas[]", read=read, options=OPTIONS
)
