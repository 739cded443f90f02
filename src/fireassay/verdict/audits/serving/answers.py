"""Are these the answers to what was asked, from the model that was asked?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import TEXT
from fireassay.frames.serving.shown_tokens import MAX_BYTES, REASONING
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches, some
from fireassay.verdict.evidence.answer_agreement import GRADES, Agreement, agreements
from fireassay.verdict.evidence.sent_requests import main, planned, requests_of, serving_of
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=SERVING)


# ---- agreement ----


@AUDITS.add("agreement", "Do equal prompts get answers that agree as closely as required?", title="disagreeing answers")
def examine_agreement(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration; a note if a grade is required and no prompt was sent twice.

    serving.correctness.grade is the weakest acceptable agreement; `fireassay.verdict.evidence.answer_agreement` grades the answers. A lower
    grade is a failure: replicas with different weights, a stale cache or a batch-dependent kernel answer wrongly at any speed. A grade that
    the record can neither show nor exclude is a warning, with the missing evidence. Without a required grade, differing answers are a note.
    Cannot tell: which of two different answers is right; quality does.
    """
    requested = serving_of(measured).correctness.grade
    known = agreements(measured)
    if not known:
        return (
            (
                Finding(
                    "agreement_not_measured",
                    "warning",
                    None,
                    f"grade {requested} is required, but no prompt was answered more than once",
                    "set serving.correctness.identity = 10",
                ),
            )
            if requested != "none"
            else ()
        )
    return tuple(f for name, agreement in known.items() if (f := _judged(name, agreement, requested)) is not None)


def _judged(name: str, agreement: Agreement, requested: str) -> Finding | None:
    if requested == "none":
        if not agreement.differing:
            return None
        return Finding(
            "answers_differ", "note", name, _agreement_words(agreement), "set serving.correctness.grade to the agreement that is enough"
        )
    least = GRADES.index(requested)
    if GRADES.index(agreement.possible) < least:
        evidence = f"the agreement of answers to equal prompts is graded {_graded(agreement)}, {requested} is required: {_agreement_words(agreement)}"
        remedy = (
            "check whether all replicas have the same weights, precision and template, and whether the engine's kernels depend on the batch"
        )
        return Finding("agreement", "fail", name, evidence, remedy)
    if GRADES.index(agreement.shown) < least:
        evidence = f"it is unknown whether answers to equal prompts agree at grade {requested}: {_agreement_words(agreement)}"
        remedy = "an engine that reports log probabilities, one token per chunk, can show it"
        return Finding("agreement_not_shown", "warning", name, evidence, remedy)
    return None


def _graded(agreement: Agreement) -> str:
    return agreement.possible if agreement.possible == agreement.shown else f"{agreement.possible} at best"


def _agreement_words(agreement: Agreement) -> str:
    again = count(agreement.prompts, "prompts")
    if not agreement.differing:
        return f"the texts of {agreement.answers:,} answers to {again} are equal, and their probabilities were not reported"
    return f"{agreement.differing:,} of {agreement.answers:,} answers to {again} differ, the worst: {agreement.where}"


@AUDITS.blind("agreement")
def blind_agreement(measured: RecordData, _: Results) -> str | None:
    """Blind if no prompt was sent twice."""
    return None if agreements(measured) else "no prompt was answered more than once (serving.correctness.identity)"


# ---- duplicate answers ----

DUPLICATES_MAX_SHARE: Final = 0.05
DUPLICATES_LONG: Final = 24  # characters
DUPLICATES_MIN_ANSWERS: Final = 20  # answers


@AUDITS.add("duplicate_answers", "Did different prompts get the same answer?", title="answers from a cache")
def examine_duplicates(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with repeated answers.

    A cache of whole answers in front of an engine makes it look fast, and an engine that always returns the same text does no work. Within
    a launch, an answer of at least 24 characters also given to another prompt is a duplicate; more than 5 % of them is a warning. Prompts
    count as different unless they are the same example or come from the same seed. Cannot tell: a short answer (a class, a number) that
    many prompts rightly share; a tiny model with random weights also repeats itself.
    """
    for name, rows in by_configuration(measured, _answers(measured)):
        twice = rows.filter(pl.col("prompts") > 1)
        if rows.height < DUPLICATES_MIN_ANSWERS or twice.height <= DUPLICATES_MAX_SHARE * rows.height:
            continue
        evidence = (
            f"{percent(twice.height / rows.height)} of {count(rows.height, 'answers')} were also given to another prompt "
            f"({in_launches(twice['launch'])}): a cache of answers, or answers that do not depend on the prompt"
        )
        remedy = "examine the texts in the record; switch off caches of whole answers in front of the engine"
        yield Finding("answers_repeat", "warning", name, evidence, remedy)


def _answers(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, prompts): per long answer, the number of different prompts of its launch that got it."""
    prompt = pl.coalesce(pl.col("example"), pl.format("seed {}", pl.col("seed")))
    prompts = planned(measured, "seed", "example").select("launch", "request", prompt.alias("prompt"))
    answers = main(measured, "status", "kind", "text").filter(
        (pl.col("status") == "ok") & pl.col("kind").is_in(["normal", "canary"]) & (pl.col("text").str.len_chars() >= DUPLICATES_LONG)
    )
    joined = answers.select("launch", "configuration", "request", pl.col("text").hash(seed=0)).join(prompts, on=["launch", "request"])
    return joined.with_columns(pl.col("prompt").n_unique().over("launch", "text").alias("prompts"))


@AUDITS.blind("duplicate_answers")
def blind_duplicates(measured: RecordData, _: Results) -> str | None:
    """Blind without answer texts."""
    return None if _answers(measured).height else f"no answer of {DUPLICATES_LONG} characters or more was kept (serving.client.keep_text)"


# ---- cross talk ----

CROSS_TALK_SHORTEST: Final = 6  # characters; a shorter nonce could occur in any text
CROSS_TALK_FEW: Final = 0.5  # of the canaries' answers


@AUDITS.add("cross_talk", "Did a response reach the wrong client?", title="misrouted responses")
def examine_cross_talk(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A failure per configuration with an answer that contains another request's nonce; notes on undetectable cases.

    Canaries carry a unique nonce. An answer with another request's nonce was swapped or mixed: FAIL, one suffices. A canary's answer
    without its own nonce proves nothing, since a model may ignore the instruction; the number that returned it is reported, since only they
    could have shown a swap of their own. All launches are checked, including fault launches. Cannot tell: a mix-up of requests without a
    nonce (serving.correctness.canaries is the share with one).
    """
    nonces = _nonces(measured)
    if nonces.height == 0:
        evidence = "no request carried a nonce, so a misrouted response would go unnoticed"
        remedy = "set serving.correctness.canaries = 0.02, which lets one request in fifty carry one"
        return (Finding("cross_talk_not_measured", "note", None, evidence, remedy),)
    answers = requests_of(measured, "text", role=None).filter(pl.col("text").is_not_null())
    swapped = _swapped(answers, nonces)
    return (
        *(_cross_talk_wrong(name, requests) for name, requests in by_configuration(measured, swapped)),
        *_unanswered(measured, answers, nonces),
    )


def _nonces(measured: RecordData) -> pl.DataFrame:
    """(launch, request, nonce) of the canaries of successful launches."""
    canaries = planned(measured, "kind", "expected").filter(
        (pl.col("kind") == "canary") & (pl.col("expected").str.len_chars() >= CROSS_TALK_SHORTEST)
    )
    ok = measured.table("launches").filter(pl.col("status") == "ok")
    return canaries.join(ok, on="launch", how="semi").select("launch", "request", pl.col("expected").alias("nonce"))


def _swapped(answers: pl.DataFrame, nonces: pl.DataFrame) -> pl.DataFrame:
    """(launch, request, configuration, owner): answers with the nonce of another request of their launch."""
    every = nonces["nonce"].unique().sort().to_list()
    held = answers.select("launch", "request", "configuration", pl.col("text").str.extract_many(every, overlapping=True).alias("nonce"))
    held = held.explode("nonce").drop_nulls("nonce").unique()
    swapped = held.join(nonces.rename({"request": "owner"}), on=["launch", "nonce"]).filter(pl.col("owner") != pl.col("request"))
    mine = nonces.rename({"nonce": "mine"})
    # One nonce may be a prefix of another ("n1", "n12"): ignore matches inside the request's own nonce.
    swapped = swapped.join(mine, on=["launch", "request"], how="left")
    inside = pl.col("mine").fill_null("").str.contains(pl.col("nonce"), literal=True)
    return swapped.filter(~inside).sort("launch", "request")


def _cross_talk_wrong(name: str, swapped: pl.DataFrame) -> Finding:
    first = swapped.row(0, named=True)
    answers = swapped.select("launch", "request").n_unique()
    evidence = (
        f"{count(answers, 'answers')} contain another request's nonce, the first: request {first['request']} of launch "
        f"{first['launch']} got the nonce of request {first['owner']}"
    )
    remedy = "do not serve with this engine: responses reach the wrong client; check its batching and caches, and the proxy in front of it"
    return Finding("cross_talk", "fail", name, evidence, remedy)


def _unanswered(measured: RecordData, answers: pl.DataFrame, nonces: pl.DataFrame) -> Iterator[Finding]:
    canaries = answers.join(nonces, on=["launch", "request"])
    echoed = canaries.filter(pl.col("text").str.contains(pl.col("nonce"), literal=True)).height
    if canaries.height == 0:
        evidence = "no canary has an answer whose text was kept"
        yield Finding("cross_talk_not_measured", "note", None, evidence, "set serving.client.keep_text = true")
    elif echoed < CROSS_TALK_FEW * canaries.height:
        evidence = (
            f"{percent(echoed / canaries.height)} of {canaries.height:,} answers to canaries contain their nonce: the model ignores the instruction, and a "
            "swap is visible in those answers only"
        )
        yield Finding("canaries_unanswered", "note", None, evidence, "use a model that follows instructions, or an engine's own echo")


@AUDITS.blind("cross_talk")
def blind_cross_talk(measured: RecordData, _: Results) -> str | None:
    """Blind unless some canary's answer returned its nonce."""
    nonces = _nonces(measured)
    if nonces.height == 0:
        return "no request carried a nonce (serving.correctness.canaries)"
    texts = requests_of(measured, "text", role=None).join(nonces, on=["launch", "request"])
    seen = texts.filter(pl.col("text").str.contains(pl.col("nonce"), literal=True)).height
    return None if seen else "no answer contains the nonce of its request, so a swap would look the same"


# ---- answers as asked ----

AS_ASKED_MANY: Final = 0.01
MAX_TOKEN_LENGTH: Final = 32  # characters per token, for text without a token count
AS_ASKED_STREAM: Final = "their token times are unknown: TTFT is that of the whole answer. Check whether a gateway buffers the stream"
HIDDEN: Final = "count reasoning tokens that the stream does not show"
AS_ASKED_USAGE: Final = "do not quote token rates; set serving.tokenizer so that assay counts the tokens"


@AUDITS.add("answers_as_asked", "Did the engine answer in the requested form?", title="answers in another form")
def examine_as_asked(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration and kind.

        not_streamed        a stream was requested, but the answer came as one JSON: a single chunk with everything, without a separate finish
                            reason or end mark. Its time to first token is that of the whole answer
        came_at_once        all text of a stream came at one moment: something between engine and client holds streams back, and the
                            time to first token is that of the whole answer
        usage_impossible    the reported usage does not fit the text: fewer tokens than chunks with text, or (without reasoning
                            tokens) more than the text has bytes, at up to four per character
        unfinished          no finish reason, although most answers have one: they may have been cut off
        reasoning_hidden    a note: usage counts reasoning that the stream does not show; times per token are over what it shows

    A warning from 1 % of a configuration's answers, below that a note. Engines that continue past their end mark (ignore_eos) may generate
    tokens without text: the upper limit is not checked then. Cannot tell: smaller errors of the usage; `token_counts` compares it with a
    tokenizer.
    """
    serving = serving_of(measured)
    answers = main(
        measured,
        "status",
        "tokens_out",
        "finish_reason",
        whole=came_whole(),
        wrong=impossible(padded=serving.ignore_eos).fill_null(False),
        chunks=pl.col("chunk_chars").list.len(),
        chars=pl.col("chunk_chars").list.sum(),
        hidden=(pl.col("tokens_reasoning") > 0) & ~pl.col("chunk_kind").list.contains(REASONING),
    )
    held = measured.served.requests.select("launch", "request", "at_once", "text_chunks")
    answers = answers.join(held, on=["launch", "request"], how="left").with_columns(hidden=pl.col("hidden") & (pl.col("text_chunks") > 0))
    for name, rows in by_configuration(measured, answers.filter(pl.col("status") == "ok")):
        if serving.stream and serving.task in ("chat", "completions", "image_chat"):
            yield from _as_asked_named(
                "not_streamed",
                name,
                rows,
                rows.filter("whole"),
                "came as one JSON document although a stream was requested",
                AS_ASKED_STREAM,
            )
            at_once = rows.filter("at_once")
            yield from _as_asked_named("came_at_once", name, rows, at_once, "came with all their text at one moment", AS_ASKED_STREAM)
        cut = rows.filter(pl.col("finish_reason").is_null())
        if 2 * cut.height < rows.height:
            what = "ended without a finish reason, unlike the others"
            yield from _as_asked_named("unfinished", name, rows, cut, what, "read the engine's log: they may have been cut off")
        hidden = rows.filter("hidden")
        yield from _as_asked_named(
            "reasoning_hidden", name, rows, hidden, HIDDEN, "nothing: times per token are over what is shown", "note"
        )
        wrong = rows.filter("wrong")
        yield from _as_asked_named(
            "usage_impossible", name, rows, wrong, f"report a usage that their text cannot have{_example(wrong)}", AS_ASKED_USAGE
        )


def came_whole() -> pl.Expr:
    """True if an answer came as one JSON document: a single chunk with more than one token, or more text than a token holds."""
    several = pl.coalesce(pl.col("tokens_out") > 1, pl.col("chunk_chars").list.sum() > MAX_TOKEN_LENGTH)
    return (pl.col("chunk_kind").list.len() == 1) & pl.col("chunk_kind").list.first().is_in(TEXT) & several


def impossible(*, padded: bool) -> pl.Expr:
    """True if the text cannot hold the reported tokens; null without usage. `padded`: tokens may carry no text."""
    texts = pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.sum()
    visible = pl.col("tokens_out") - pl.col("tokens_reasoning").fill_null(0)
    too_few = pl.col("tokens_out") < texts
    if padded:
        return too_few
    return too_few | (visible > MAX_BYTES * pl.col("chunk_chars").list.sum() + 1)  # the end mark has no text


def _example(wrong: pl.DataFrame) -> str:
    if wrong.height == 0:
        return ""
    row = wrong.row(0, named=True)
    return f" (request {row['request']}: {row['tokens_out']} tokens, {row['chars']} characters in {row['chunks']} chunks)"


def _as_asked_named(
    rule: str, name: str, rows: pl.DataFrame, wrong: pl.DataFrame, what: str, remedy: str, worst: Severity = "warning"
) -> list[Finding]:
    if wrong.height == 0:
        return []
    share = wrong.height / rows.height
    evidence = f"{count(wrong.height, 'answers')} of {rows.height:,} ({percent(share)}) {what}"
    return [Finding(rule, worst if share >= AS_ASKED_MANY else "note", name, evidence, remedy)]


# ---- answer model ----

ANSWER_MODEL_EVENT: Final = "answer_models"
VERSION: Final = ("-", ":", "@")  # separators before a date, a version, an adapter
ANSWER_MODEL_REMEDY: Final = "name the model as the engine does (--check shows how), or check where the requests go"


@AUDITS.add("answer_model", "Did the requested model give the answers?", title="answers by another model")
def examine_answer_model(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration.

    Answers name their model. Another name than requested is a warning: an alias, a gateway's fallback, or an engine that ignores the name.
    The same name with a prefix before a slash (organisation, folder) or a suffix after a hyphen, colon or at sign (date, version, adapter)
    is a note. Answers by several models are a note too, unless one of them is another model. Source: the event `answer_models`. Cannot
    tell: a model that answers under another's name.
    """
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "configuration")
    events = measured.table("events").filter(pl.col("kind") == ANSWER_MODEL_EVENT).join(launches, on="launch").sort("launch")
    for name in measured.configurations:
        requested, answered = "", Counter[str]()
        for detail in events.filter(pl.col("configuration") == name)["detail"]:
            requested, counts = _reported(detail)
            answered.update(counts)
        if requested and set(answered) - {requested}:
            yield _answer_model_named(name, requested, answered)


def _reported(detail: str) -> tuple[str, dict[str, int]]:
    """The requested model and answers per reported model; skips values that are not counts, since a record may be written by anyone."""
    event = json.loads(detail)
    answered = event.get("answered") if isinstance(event, dict) else None
    if not isinstance(answered, dict):
        return "", {}
    return str(event.get("asked", "")), {name: n for name, n in answered.items() if type(n) is int and n > 0}


def _answer_model_named(configuration: str, requested: str, answered: Counter[str]) -> Finding:
    others = [(name, answers) for name, answers in answered.most_common() if name != requested]
    alien = [model for model in others if not a_form_of(model[0], requested)]
    shown = some([f'"{name}" ({count(answers, "answers")})' for name, answers in alien or others])
    whole = count(answered.total(), "answers")
    evidence = f'"{requested}" was requested; of {whole} that name their model, others are by {shown}'
    return Finding(
        "another_model" if alien else "model_by_another_name", "warning" if alien else "note", configuration, evidence, ANSWER_MODEL_REMEDY
    )


def a_form_of(one: str, other: str) -> bool:
    """True if two names differ only in folder and version."""
    short, long = sorted((_stem(one), _stem(other)), key=len)
    return short == long or long.startswith(tuple(short + mark for mark in VERSION))


def _stem(name: str) -> str:
    return name.lower().rstrip("/").rsplit("/", 1)[-1]
