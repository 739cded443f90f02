"""How do other programs read a verdict, as strict JSON of a stable, documented shape (`assay-report/1`)?

Numbers are raw, in the unit given next to them; texts for people are not part of the contract.  JSON has no infinity:
an end of an interval that the data do not bound is null, and then `bounded` is false.  A value that was not measured
is an object with `"measured": false` and a reason, and has no `value` key.  Keys may be added; none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fireassay.frames.evaluation.images import every_image, have_images
from fireassay.frames.evaluation.judgements import judgements
from fireassay.frames.hosts import host_uses
from fireassay.frames.links import pairs as links
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.reports.answering import worth
from fireassay.reports.documents.images import AnswerImage
from fireassay.reports.documents.json_object import Document, JsonObject, Measured, key, reference_page, spread
from fireassay.reports.documents.load_objects import LoadObjects
from fireassay.reports.view import View

CONFIGURATION = "key of the configuration"
STANDING = (
    "`invalid` or `provisional` where a value must not be quoted as it is; `observed` of a job that was only watched; null where it stands"
)


class Record(JsonObject):  # of `View`
    id: str = key("the record's id", "record")
    name: str = key("the experiment's name")
    created_utc: str = key("when the record was begun, ISO 8601", "created")
    assay_version: str = key("the version that measured")
    state: str = key("`complete`, `interrupted` or `failed`")
    sealed: bool = key("whether the record carries its seal")
    seal: str | None = key(
        "SHA-256 of the sealed manifest.json, for `assay verify --expect`; it identifies the judged record, not who made it",
        lambda view: view.seal or None,
    )


class Verdict(JsonObject):  # of `View`
    status: str = key("`PASS`, `GAIN`, `NO_GAIN`, `MEASURED`, `FAIL`, `INCONCLUSIVE`, `INVALID` or `NOT_MEASURED`")
    sentence: str = key("the sentence that may be quoted")
    recommended: str | None = key("the recommended configuration; null where none qualifies")
    standing: str | None = key(STANDING, lambda view: worth(view)[0] or None)
    standing_reason: str | None = key(
        "why, in a few words: the audit's rule, `undecided`, `3 launches`", lambda view: worth(view)[1] or None
    )
    asked: list[str] = key("the requested dimensions (`verdict.only`); the others are listed below too", "wanted")


class Configuration(JsonObject):
    """A column of the report."""

    configuration: str = key("its key everywhere in this document, for example `workers=2`")
    workers: int = key("number of workers")
    base: bool = key("whether speedups are relative to this one")


class Dimension(JsonObject):
    """One dimension of one configuration."""

    configuration: str = key(CONFIGURATION)
    dimension: str = key("`correctness`, `performance`, `cost` or `reliability`")
    status: str = key("as in `verdict`")
    sentence: str = key("why")


class Metric(JsonObject):
    """A metric at a configuration; all but its value from a `MetricRow`."""

    metric: str = key("name of the metric, as in the reference of metrics and in its family", "row.name")
    configuration: str = key("key of the configuration, or `all` for the whole experiment")
    title: str = key("its name for people", "row.title")
    dimension: str = key("as in `dimensions`", "row.dimension")
    unit: str = key("unit of `value`, `low` and `high`", "row.unit")
    better: str = key("`higher`, `lower` or `neither`", "row.better")
    formula: str = key("how it is defined", "row.formula")
    standing: str | None = key(f"{STANDING}; as in `verdict`")
    value: Measured = spread()


class Gate(JsonObject):  # of `GateRow`
    gate: str = key("name of the gate")
    configuration: str = key("key of the configuration, or `all`")
    status: str = key("as in `verdict`")
    sentence: str = key("the evidence")


class Finding(JsonObject):  # of `FindingRow`
    rule: str = key("name of the audit's rule")
    severity: str = key("`invalid`, `fail`, `warning` or `note`")
    configuration: str | None = key("key of the configuration; null for the whole record")
    evidence: str = key("what was seen, with numbers")
    remedy: str = key("what to do")


class Recommendation(JsonObject):  # of `RecommendationRow`
    goal: str = key("`recommended`, `cheapest`, `fastest`, ...")
    configuration: str | None = key("key of the configuration; null where none qualifies")
    sentence: str = key("why")


class Launch(JsonObject):  # of `LaunchRow`
    launch: int = key("number of the launch", "number")
    configuration: str = key(CONFIGURATION)
    workers: int = key("number of workers")
    block: int = key("block of the design")
    order: int = key("position in the round")
    attempt: int = key("0 for the first try")
    role: str = key("`timed` or `fault`")
    seed: int = key("training seed")
    begin_utc: str = key("when it began, ISO 8601")
    status: str = key("`ok`, `failed`, `timeout`, `aborted` or `skipped`")
    reason: str = key("why it is not ok; empty if it is")
    exit_code: int | None = key("null if it was killed or never started")
    restarts: int = key("number of restarts of the workers")
    wall_s: float = key("seconds from start to the end of the last process")
    steps: int = key("steps recorded")
    step_s: float | None = key("median steady step time, seconds")
    warmup_steps: int | None = key("leading steps recognised as warm-up", "warmup")


class Environment(JsonObject):
    """A fact about the machine."""

    fact: str = key("dotted name")
    before: str = key("before the experiment", "row.before")
    after: str = key("after it", "row.after")
    changed: bool = key("whether the two differ", "row.changed")


class Condition(JsonObject):  # of `Fact`
    name: str = key("the subject")
    text: str = key("in words")


class Layer(JsonObject):  # of `LayerRow`
    configuration: str = key(CONFIGURATION)
    layer: str = key("`ledger`, `gradient`, `hashes` or `trajectory`")
    state: str = key("`pass`, `fail`, `not run`, or `advice` where the evidence decides nothing")
    sentence: str = key("the evidence, or what it would have needed")


class Spent(JsonObject):  # of `Spent`
    configuration: str = key(CONFIGURATION)
    role: str = key("`timed` or `fault`: of these launches together")
    launches: int = key("their number")
    rank_s: float = key("their workers x wall time, seconds")
    shares: dict[str, Any] = key(f"share of it in each category, which sum to 1: {', '.join(f'`{name}`' for name in CATEGORIES)}")


class Collective(JsonObject):  # of `Cell`
    configuration: str = key("key of `collective_time`, `algbw`, `busbw`, `collective_errors`", "name")
    group: str = key("key of `alpha`, `beta`, `crossover_size`: all sizes together")
    op: str = key("operation")
    place: str = key("`in`: the result overwrites the input; `out`: it does not")
    workers: int = key("ranks of the group")
    size: int = key("requested bytes")
    bytes: int = key("bytes sent, as nccl-tests counts them", "nbytes")


class Profile(JsonObject):  # of profiled launch
    launch: int = key("number of the launch, whose role is `profile`")
    configuration: str = key(CONFIGURATION)
    status: str = key("as in `launches`")
    reason: str = key("as in `launches`")
    windows: list[dict[str, Any]] = key(
        "for each rank: `kept` steps, steps `seen`, the request (`asked`), the `file`, and what went wrong (`trouble`)"
    )
    ranks: list[dict[str, Any]] = key(
        "for each trace: `steps`, the `whole` trace, `operators`, `kernels`, `classes`, `memory`, or `threads` and `categories` of a trace that "
        "knows neither; times in nanoseconds; `absent` says why not"
    )
    nsys: list[dict[str, Any]] = key("for each capture of Nsight Systems: its `reports`")
    imported: str = key("only of imported traces: the tool that wrote them", when=lambda launch: "imported" in launch)
    notes: list[str] = key(
        "only of imported traces: what their files lack, and which events were left out", when=lambda launch: "imported" in launch
    )


class Step(JsonObject):  # of `StepRow`
    """Answers with so many steps; values of an item, each as in `metrics`."""

    task: str = key("the task")
    engine: str = key("the engine")
    steps: int = key("number of steps")
    sent: str = key("what the engine got: the number, or the word that stands for it")
    enough: bool = key("whether it is shown to be within the margin of every other number")
    score: Measured = key("the deciding score")
    session_time_p50: Measured = key("seconds, over items", "time")
    session_time_p95: Measured = key("likewise", "time_p95")
    tokens_in: Measured = key("prompt tokens")
    tokens_out: Measured = key("output tokens")
    tokens_reasoning: Measured = key("of these, reasoning", "reasoning")
    tool_share: Measured = key("share of the time inside of tools", "tools")
    usd: Measured = key("US dollars")
    gain: Measured = key("score minus that of the best other number, better is positive")


class Knee(JsonObject):  # of `KneeRow`
    task: str = key("the task")
    engine: str = key("the engine")
    what: str = key("a step: `samples`, `turns`, `reasoning tokens` or `candidates`")
    steps: int | None = key("the smallest number that is enough; null: none is shown to be", "at")
    status: str = key("`MEASURED`, or `INCONCLUSIVE` where the items are too few to say")
    margin: float = key("the margin, in the unit of the score")
    confidence: float = key("of each one-sided bound")
    items: int = key("items in the curve")
    sentence: str = key("the result in words")


class Choice(JsonObject):  # of `ChoiceRow`
    """What another score says of the best of k candidates by the deciding score; values of an item, each as in `metrics`."""

    task: str = key("the task")
    configuration: str = key("the side", "column")
    by: str = key("the deciding score, by which is chosen")
    score: str = key("the other score", "other")
    k: int = key("of so many candidates")
    chosen: Measured = key("the other score of the chosen candidate", "value")
    random: Measured = key("of a random one")
    own_best: Measured = key("of its own best of k")
    gain: Measured = key("chosen against random, better is positive")
    optimism: Measured = key("gain of the deciding score less that; only of two scores with one declared scale")
    items: int = key("items that have so many candidates with both scores")


class JudgementRow(JsonObject):
    """What a model said of an answer, or of a pair in one order."""

    task: str = key("the item's task")
    item: str = key("its id")
    repetition: int = key("from 0, of several answers to an item")
    side: str = key("the side that was judged; of a pair the one shown first")
    against: str | None = key("the side shown second; null: judged alone")
    value: float | None = key("the rating, or of a pair 1: the first won, 0.5: tie, 0: it lost; null: no answer")
    reason: str = key("the judge's own words, at most 300 characters; empty: it gave none")


class GroupChange(JsonObject):
    """The change of one subgroup at one side."""

    group: str = key("the field", lambda item: item[0].group)
    label: str = key("its value", lambda item: item[0].label)
    side: str = key("the side", lambda item: item[1].column)
    status: str = key("`PASS` held, `FAIL` degraded, `INCONCLUSIVE`, or `MEASURED` without a margin", lambda item: item[1].status)
    change: Measured = key(
        "against the reference, as in `metrics`; bounds hold for all subgroups and sides together", lambda item: item[1].change
    )
    items: int = key("items of the subgroup that both sides scored", lambda item: item[1].items)


class Link(JsonObject):
    """Messages from one rank to another; all but its class from a `Link`."""

    from_: int = key("rank of the sender", lambda item: item.link.pair[0])
    to: int = key("rank of the receiver", lambda item: item.link.pair[1])
    class_: str | None = key("of `classes`; null: none", lambda item: item.kinds.get(item.link.pair))
    latency: Measured = key("a value as in `metrics`, seconds", "link.latency")
    bandwidth: Measured = key("likewise, bytes per second", "link.bandwidth")
    wrong: int = key("bytes that arrived changed", "link.wrong")


def _links(pairs: links.Pairs) -> list[Link]:
    return [Link(kinds=pairs.classes.kinds, link=link) for link in pairs.matrix.links]


class Pairs(JsonObject):
    """Messages between pairs of ranks, made from `Pairs`."""

    configuration: str = key("the configuration whose ranks sent messages to each other")
    hosts: list[str] = key("the host of every rank; empty where the ranks did not report it", "matrix.hosts")
    at_once: bool = key("whether pairs without a common rank were measured at the same time", "matrix.together")
    classes: list[str] = key("the classes that occur, the nearest first; empty where refused", "classes.names")
    refused: str = key("why there are no classes; empty where there are", "classes.refused")
    sentences: list[str] = key("the classes in words, and contradictions", "classes.sentences")
    links: list[Link] = key("one for every ordered pair", _links)


class Host(JsonObject):  # of `HostUse`
    """One host of the timed launches of the largest worker count; null: not measured."""

    host: str = key("its name, as in `launcher.hosts` or as its engine calls it")
    ranks: list[int] = key("the ranks on it; of a load its client processes")
    own_step_s: float | None = key("a step without waiting for others, of its slowest rank, seconds", "own_s")
    processors: float | None = key("processors that the launch's own processes used, the busiest launch")
    received_per_s: float | None = key("bytes per second received by all interfaces but the loopback one")
    sent_per_s: float | None = key("bytes per second sent")
    foreign: float | None = key("share of the processors that other programs used, the worst launch")
    steal: float | None = key("share that the hypervisor took")
    throttled: float | None = key("share of time stopped by a quota, or of readings with a GPU throttled for heat or power")
    gpu_celsius: float | None = key("the hottest GPU", "hottest")
    probe_s: float | None = key("the speed probe: the same work on every host, seconds")
    joules: float | None = key("mean of the launches; of a load's client host no part of the record's energy")
    clock_s: float | None = key("its clock minus that of the machine that ran assay, seconds")
    clock_bound_s: float | None = key("by how much that can be off")


def _dimensions(view: View) -> Iterator[Dimension]:
    for row in view.vector:
        for name, cell in row.cells.items():
            yield Dimension(configuration=row.column.key, dimension=name, status=cell.status, sentence=cell.sentence)


def _environment(view: View) -> Iterator[Environment]:
    for group in view.environment:
        for row in group.rows:
            yield Environment(fact=row.key if row.key == group.name else f"{group.name}.{row.key}", row=row)


class ReportDocument(Document):  # of `View`
    VERB = "report"
    VERSION = "assay-report/1"

    record: Record = key("the judged record", lambda view: view)
    verdict: Verdict = key("the judgement of the whole record", lambda view: view)
    configurations: list[Configuration] = key(
        "the configurations, by ascending worker count",
        lambda view: [Configuration(configuration=one.key, workers=one.workers, base=one.key == view.base) for one in view.columns],
    )
    dimensions: list[Dimension] = key("one for each configuration and dimension", _dimensions)
    metrics: list[Metric] = key(
        "one for each metric and configuration",
        lambda view: [
            Metric(row=row, configuration=at, standing=worth(view)[0] or None, value=cell.value)
            for row in view.metrics
            for at, cell in row.cells.items()
        ],
    )
    gates: list[Gate] = key("one for each gate and configuration")
    findings: list[Finding] = key("the findings of the audits, the worst first")
    recommendations: list[Recommendation] = key("the recommended configurations, one for each goal")
    launches: list[Launch] = key("every launch, including those that failed")
    environment: list[Environment] = key("facts about the machine before and after the experiment", _environment)
    conditions: list[Condition] = key("the requested conditions, in words")
    serving: LoadObjects = key(
        "only if the record is about serving: curves, timelines, failures, replicas, agreement",
        lambda view: view,
        when=lambda view: view.serving is not None,
    )
    layers: list[Layer] = key(
        "only if it is a training on several workers: the four layers of its correctness, for each worker count",
        when=lambda view: bool(view.layers),
    )
    spent: list[Spent] = key(
        "only if a rank marks its steps: where the paid time of timed and of fault launches went", when=lambda view: bool(view.spent)
    )
    collectives: list[Collective] = key(
        "only if the record times collectives: the meaning of the keys of its metrics", when=lambda view: bool(view.collectives)
    )
    profiles: list[Profile] = key("only if launches were profiled: a summary of their traces", when=lambda view: bool(view.profiles))
    pairs: list[Pairs] = key(
        "only if messages between pairs of ranks were timed: latency and bandwidth of each, and which ranks are close",
        when=lambda view: bool(view.pairs),
    )
    hosts: list[Host] = key(
        "only if the workers, or a load's clients, ran on several nodes: how these compare",
        lambda view: host_uses(view.measured),
        when=lambda view: bool(host_uses(view.measured)),
    )
    steps: list[Step] = key(
        "only if an evaluation compares numbers of steps: one for each number of each curve",
        lambda view: view.evaluation.steps,
        when=lambda view: view.evaluation is not None and bool(view.evaluation.steps),
    )
    knees: list[Knee] = key(
        "likewise: the smallest number that is enough, for each curve",
        lambda view: view.evaluation.knees,
        when=lambda view: view.evaluation is not None and bool(view.evaluation.knees),
    )
    choices: list[Choice] = key(
        "only if the best of candidates is chosen and there is another score: what that says, for each number of candidates",
        lambda view: view.evaluation.choices,
        when=lambda view: view.evaluation is not None and bool(view.evaluation.choices),
    )
    images: list[AnswerImage] = key(
        "only if answers of an evaluation are images: each of them",
        lambda view: every_image(view.measured),
        when=lambda view: view.evaluation is not None and have_images(view.measured),
    )
    judgements: list[JudgementRow] = key(
        "only if a model judged: what it said of each answer, or of each pair in each order",
        lambda view: judgements(view.measured),
        when=lambda view: view.evaluation is not None and bool(judgements(view.measured)),
    )
    subgroups: list[GroupChange] = key(
        "only if sides of an evaluation have subgroups: one for each and each other side",
        lambda view: [(row, decision) for row in view.evaluation.groups for decision in row.held],
        when=lambda view: view.evaluation is not None and any(row.held for row in view.evaluation.groups),
    )


DOCUMENT = ReportDocument
render = DOCUMENT.render


def reference() -> str:
    """The page docs/reference/json.md, generated from the document."""
    return reference_page("The JSON report", __name__, DOCUMENT, "assay report RECORD --json", __doc__)
