"""Two evaluations that differ in one condition are not comparable, and the refusal names the field.

Every record is made by its real runner: sent items by `evaluation` against a server in this process, given answers by `answers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from fireassay import catalog
from fireassay.cli import main
from fireassay.quality.sandbox.tiers import Limits
from fireassay.runners.evaluating import likelihood
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from tests.echo_engine import echo_engine
from tests.oracle import oracle
from tests.tiers import some
from tests.traffic import made

Row = Mapping[str, Any]
Edit = Callable[[dict[str, Any]], None]

TASK: Final = """
name = "sums"
data = "sums.jsonl"
template = "{q}"
shots_from = "shots.jsonl"
max_tokens = 8
metrics = ["exact_match"]
[fields]
id = "id"
reference = "answer"
"""
ROWS: Final[list[dict[str, Any]]] = [
    {"id": f"s{a}", "q": f"{a}+1=", "answer": str(a + 1), "topic": f"t{a % 2}", "other": f"u{a % 3}", "weight": 1 + a, "all": ["1", "2"]}
    for a in range(4)
]
SHOTS: Final = [{"id": "x", "q": "7+1=", "answer": "8", "topic": "t", "other": "u", "weight": 1, "all": ["1", "2"]}]
T: Final = "evaluation.tasks.sums"


def lines(rows: list[Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def right(prompt: str) -> str:
    """The sum that the last line asks for."""
    return str(int(prompt.rpartition("\n")[2].strip("Q: ").partition("+")[0]) + 1)


@dataclass(frozen=True, kw_only=True)
class Sent:
    """An evaluation: the task, its files, and what is changed in the experiment."""

    task: str = TASK
    rows: str = lines(ROWS)
    edit: Edit = lambda _: None
    path: str = "sums.jsonl"

    def made(self, folder: Path, url: str) -> Path:
        """Its record."""
        folder.mkdir(parents=True)
        (folder / "own.toml").write_text(self.task)
        (folder / self.path).write_bytes(self.rows.encode())
        (folder / "shots.jsonl").write_text(lines(SHOTS))
        experiment: dict[str, Any] = {
            "name": folder.name,
            "workload": {"runner": "evaluation", "work": "tokens"},
            "launches": {"per_configuration": 1},
            "noise": {"sentinel_s": 0.0},
            "evaluation": {"task": "own.toml"},
            "serving": {
                **deepcopy(LOAD),
                "model": "oracle",
                "concurrency": [2],
                "targets": [{"name": "engine", "urls": [url]}],
                "prompts": {"source": "own.toml", "cache": "as_is"},
            },
        }
        self.edit(experiment)
        return run(from_mapping(experiment), folder=folder, root=folder / "records")


def serving(**changes: Any) -> Edit:
    return lambda data: data["serving"].update(changes)


def evaluation(**changes: Any) -> Edit:
    return lambda data: data["evaluation"].update(changes)


def target(**changes: Any) -> Edit:
    return lambda data: data["serving"]["targets"][0].update(changes)


def edited(old: str, new: str) -> Sent:
    assert old in TASK
    return Sent(task=TASK.replace(old, new))


def other(index: int, **changes: Any) -> Sent:
    """One item is another one."""
    return Sent(rows=lines([{**row, **changes} if place == index else row for place, row in enumerate(ROWS)]))


SENT: Final[Mapping[str, tuple[Sent, set[str]]]] = {
    "the template": (edited('"{q}"', '"Q: {q}"'), {f"{T}.template", f"{T}.prompts"}),
    "few-shot examples": (edited("shots_from", "shots = 1\nshots_from"), {f"{T}.shots", f"{T}.template", f"{T}.prompts"}),
    "the order of the items": (Sent(rows=lines(ROWS[::-1])), {f"{T}.items"}),
    "the limit": (
        Sent(edit=evaluation(limit=3)),
        {f"{T}.{part}" for part in ("items", "prompts", "references", "choices", "clusters", "groups", "weights", "tests", "sample")},
    ),
    "the prompt of one item": (other(2, q="3+1="), {f"{T}.prompts"}),
    "the reference of one item": (other(2, answer="x"), {f"{T}.references"}),
    "the extractor": (edited("max_tokens", 'extractor = "last_number"\nmax_tokens'), {f"{T}.extractor"}),
    "a score's option": (Sent(edit=evaluation(options={"exact_match.lower": True})), {f"{T}.metrics.exact_match.case"}),
    "a further score": (
        edited('["exact_match"]', '["exact_match", "f1"]'),
        {f"{T}.metrics", *(f"{T}.metrics.f1.{part}" for part in ("impl", "as", "norm", "nfkc", "refs"))},
    ),
    "stop strings": (edited("max_tokens", 'stop = ["\\n"]\nmax_tokens'), {f"{T}.stop"}),
    "the longest answer": (edited("= 8", "= 9"), {f"{T}.max_tokens"}),
    "chance": (edited("max_tokens", "chance = 0.25\nmax_tokens"), {f"{T}.chance"}),
    "the clusters": (edited("[fields]", '[fields]\ncluster = "topic"'), {f"{T}.cluster", f"{T}.clusters"}),
    "the groups": (edited("[fields]", '[fields]\ngroups = ["topic"]'), {f"{T}.groups"}),
    "the weights": (edited("[fields]", '[fields]\nweight = "weight"'), {f"{T}.weights"}),
    "the choices": (edited("[fields]", '[fields]\nchoices = "all"'), {f"{T}.choices", f"{T}.chance"}),
    "the largest share of failures": (Sent(edit=evaluation(most_failed=0.5)), {"evaluation.most_failed"}),
    "the temperature": (Sent(edit=serving(temperature=0.7)), {"serving.temperature", "evaluation.seed"}),
    "the model": (Sent(edit=serving(model="other")), {"serving.model", "engine.model"}),
    "the engine's dialect": (Sent(edit=target(backend="vllm")), {"engine.backend"}),
    "a key of the request's body": (Sent(edit=target(options={"body.top_p": 0.9})), {"engine.options"}),
    "completions instead of chats": (Sent(edit=serving(task="completions")), {"serving.task"}),
    "no stream": (Sent(edit=serving(stream=False)), {"serving.stream"}),
    "the tokenizer": (Sent(edit=serving(tokenizer="TOKENIZER")), {"serving.tokenizer"}),
}
OTHERWISE: Final = "".join(  # another order of keys, spaces, escapes, line ends, and a field that is not read
    json.dumps({"note": 1, **dict(reversed(row.items()))}, separators=(" ,", " : ")).replace("s0", "\\u00730") + "\r\n" for row in ROWS
)
EQUAL: Final[Mapping[str, Sent]] = {
    "the same data in other bytes": Sent(task=TASK.replace("sums.jsonl", "copy.jsonl"), path="copy.jsonl", rows=OTHERWISE),
    "other numbers in flight": Sent(edit=serving(concurrency=[1])),
    "another seed where nothing is sampled": Sent(edit=lambda data: data["launches"].update(seed=7)),
}


@dataclass
class Bench:
    """A server, its base record, and where records are made."""

    folder: Path
    url: str
    bodies: list[dict[str, Any]]
    base: Path = field(init=False)
    base_bodies: list[str] = field(init=False)

    def make(self, name: str, sent: Sent) -> Path:
        """The record of an evaluation; forgets what the server was sent before."""
        self.bodies.clear()
        return sent.made(self.folder / name.replace(" ", "-").replace("'", ""), self.url)

    def sent(self) -> list[str]:
        """What the server was sent, in an order that does not depend on time."""
        return sorted(json.dumps(body, sort_keys=True) for body in self.bodies)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with oracle(right) as engine:
        made_ = Bench(folder=tmp_path_factory.mktemp("evaluations"), url=engine.url, bodies=engine.bodies)
        made_.base = made_.make("base", Sent())
        made_.base_bodies = made_.sent()
        yield made_


def compared(capsys: pytest.CaptureFixture[str], *words: Path | str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of `assay compare`."""
    capsys.readouterr()
    code_ = main(["compare", *map(str, words), "--json"])
    return code_, json.loads(capsys.readouterr().out)


def forbidding(document: Mapping[str, Any]) -> set[str]:
    """The fields that forbid a comparison; the machine is the same in all of these."""
    return {found["field"] for found in document["mismatches"] if found["refuses"] and not found["declared"]}


def refused(capsys: pytest.CaptureFixture[str], before: Path, after: Path) -> set[str]:
    """The fields that forbid the comparison."""
    code_, document = compared(capsys, before, after)
    assert (code_, document["state"]) == (3, "incomparable"), document["sentence"]
    fields = forbidding(document)
    assert any(name in document["sentence"] for name in fields)
    return fields


@pytest.mark.slow
@pytest.mark.parametrize("name", some(SENT))
def test_one_changed_condition_of_what_is_sent_refuses_and_names_the_field(
    name: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, fields = SENT[name]
    if name == "the tokenizer":
        folder = str(made.folder(bench.folder / "model"))
        sent = replace(sent, edit=serving(tokenizer=folder))
    assert refused(capsys, bench.base, bench.make(name, sent)) == fields


@pytest.mark.slow
@pytest.mark.parametrize("name", some(EQUAL))
def test_the_same_requests_and_items_are_comparable(name: str, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Not so in lm-eval, whose number of requests in flight decides which stop strings it sends."""
    after = bench.make(name, EQUAL[name])
    assert bench.sent() == bench.base_bodies
    _, document = compared(capsys, bench.base, after)
    assert forbidding(document) == set(), document["sentence"]


@pytest.mark.deep
@pytest.mark.slow
def test_another_seed_refuses_where_engines_sample(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    sampling = Sent(edit=serving(temperature=0.5))

    def seeded(data: dict[str, Any]) -> None:
        sampling.edit(data)
        data["launches"]["seed"] = 7

    first = bench.make("sampled", sampling)
    bodies = bench.sent()
    second = bench.make("sampled otherwise", Sent(edit=seeded))
    assert bench.sent() != bodies
    assert refused(capsys, first, second) == {"evaluation.seed"}


@pytest.mark.deep
@pytest.mark.slow
def test_the_method_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = TASK.replace("[fields]", '[fields]\nchoices = "all"').replace('reference = "answer"', 'reference = "right"')
    rows = lines([{**row, "right": row["all"][0]} for row in ROWS])
    choosing = Sent(task=task.replace("max_tokens", 'method = "loglikelihood"\nmax_tokens'), rows=rows)
    with oracle(right) as engine:
        said = Sent(task=task, rows=rows).made(tmp_path / "said", engine.url)
    with echo_engine(lambda text: [-1.0] * len(text)) as engine:
        chosen = choosing.made(tmp_path / "chosen", engine.url)
    assert f"{T}.method" in refused(capsys, said, chosen)


@pytest.mark.deep
@pytest.mark.slow
def test_the_limits_of_the_sandbox_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    program = {
        "task_id": "T/0",
        "prompt": "def one():\n",
        "canonical_solution": "    return 1\n",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
        "entry_point": "one",
    }
    rows = lines([program, {**program, "task_id": "T/1", "prompt": 'def one():\n    """1"""\n'}])
    sent = Sent(rows=rows, edit=evaluation(task="humaneval", data="sums.jsonl"))
    with oracle(lambda _: "```python\ndef one():\n    return 1\n```") as engine:
        before = sent.made(tmp_path / "before", engine.url)
        monkeypatch.setattr(likelihood, "Limits", lambda: Limits(memory_mib=300))
        after = sent.made(tmp_path / "after", engine.url)
    (field_,) = refused(capsys, before, after)
    assert field_.endswith(".metrics.pass_at_1.memory")


# ---- answers that exist already ----------------------------------------------------------------------------------------

GIVEN: Final = [{**row, "answer": "2", "reference": row["answer"]} for row in ROWS]
A: Final = "evaluation.tasks.answers"


@dataclass(frozen=True, kw_only=True)
class Given:
    """A file of answers, and what is changed in the experiment."""

    rows: str = lines(GIVEN)
    changes: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    name: str = "a"

    def made(self, folder: Path) -> Path:
        """Its record."""
        folder.mkdir(parents=True)
        (folder / "answers.jsonl").write_bytes(self.rows.encode())
        evaluation_ = {"answers": [{"name": self.name, "path": "answers.jsonl"}], "metrics": ["exact_match"], **self.changes}
        experiment = {
            "name": folder.name,
            "workload": {"runner": "answers", "work": "items"},
            "launches": {"per_configuration": 1},
            "noise": {"sentinel_s": 0.0},
            "evaluation": {**evaluation_, "fields": {"id": "id", **self.fields}},
        }
        return run(from_mapping(experiment), folder=folder, root=folder / "records")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Given().made(tmp_path_factory.mktemp("answers") / "base")


CHANGED: Final[Mapping[str, tuple[Given, set[str]]]] = {
    "references": (Given(rows=lines([{**GIVEN[0], "reference": "9"}, *GIVEN[1:]])), {f"{A}.references"}),
    "the extractor": (Given(changes={"extractor": "first_number"}), {f"{A}.extractor"}),
    "the cluster's field": (Given(fields={"cluster": "topic"}), {f"{A}.cluster", f"{A}.clusters"}),
    "the groups' fields": (Given(fields={"groups": ["topic"]}), {f"{A}.groups"}),
    "the weight's field": (Given(fields={"weight": "weight"}), {f"{A}.weights"}),
    "the score": (Given(changes={"options": {"exact_match.nfkc": True}}), {f"{A}.metrics.exact_match.nfkc"}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_one_changed_condition_of_given_answers_refuses(name: str, given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed, fields = CHANGED[name]
    assert refused(capsys, given, changed.made(tmp_path / "after")) == fields


def test_a_stemmed_rouge_is_another_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rouge_score")
    plain = Given(changes={"metrics": ["rouge_l"]}).made(tmp_path / "plain")
    stemmed = Given(changes={"metrics": ["rouge_l"], "options": {"rouge_l.stem": True}}).made(tmp_path / "stemmed")
    assert refused(capsys, plain, stemmed) == {f"{A}.metrics.rouge_l.stem"}


def test_another_version_of_a_score_refuses(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where, score = catalog._members("quality.scoring.metrics")["exact_match"]
    now = score.prepare

    def later(options: Mapping[str, str | int | float | bool]) -> Any:
        prepared = now(options)
        return replace(prepared, signature=prepared.signature.replace("fireassay@2", "fireassay@3"))

    monkeypatch.setitem(catalog._members("quality.scoring.metrics"), "exact_match", (where, replace(score, prepare=later)))
    assert refused(capsys, given, Given().made(tmp_path / "after")) == {f"{A}.metrics.exact_match.impl"}


def test_another_version_of_an_extractor_refuses(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where, whole = catalog._members("quality.scoring.extractors")["whole"]
    monkeypatch.setitem(catalog._members("quality.scoring.extractors"), "whole", (where, replace(whole, version=whole.version + 1)))
    assert refused(capsys, given, Given().made(tmp_path / "after")) == {f"{A}.extractor"}


@pytest.mark.parametrize(
    "same",
    [
        Given(rows=lines([dict(reversed(row.items())) for row in GIVEN])),
        Given(rows=lines(GIVEN).replace("\n", "\r\n")),
        Given(rows=lines(GIVEN[::-1])),
        Given(rows=lines([{**row, "answer": "3"} for row in GIVEN])),
    ],
    ids=["order of keys", "line ends", "order of lines", "other answers"],
)
def test_answers_to_the_same_items_are_comparable(same: Given, given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, document = compared(capsys, given, same.made(tmp_path / "after"))
    assert forbidding(document) == set(), document["sentence"]
