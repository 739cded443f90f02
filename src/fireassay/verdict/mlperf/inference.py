"""Do LoadGen's logs of a scenario follow MLPerf's rules?  Performance run, accuracy run, compliance tests, power.

Source: mlcommons/inference at b66003e1, tools/submission: a rule fails here if either of its two checkers (submission_checker_old.py, the one
of rounds 5.0 and 5.1, and submission_checker/, which replaced it) rejects the submission for it.  Early stopping is recomputed from the
counts of the log (`stats.models.queueing`); LoadGen's own verdict counts too.  A score in a log cannot be recomputed: LoadGen's detailed log
holds no latencies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fireassay.estimates.format import given
from fireassay.record.mllog import Log, finite
from fireassay.spec.mlperf.tables import INFERENCE_SOURCE, InferenceRules
from fireassay.stats.models.queueing import floor, least_passes
from fireassay.verdict.mlperf.power import Samples, power_rules
from fireassay.verdict.mlperf.types import MlperfCheck, Rule, Score, rule, unchecked

SEEDS: Final = ("qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed")
STOPPING: Final = {"SingleStream": 0.90, "MultiStream": 0.99, "Server": 0.99}  # scenario -> percentile of early stopping, if not logged
INFERRED: Final = (
    ("SingleStream", "MultiStream"),
    ("MultiStream", "Offline"),
    ("SingleStream", "Offline"),
)  # run -> submitted, edge systems
MAX_ACCURACY_BYTES: Final = 10 * 1024  # of mlperf_log_accuracy.json, which is truncated for a submission
NEAR: Final = 0.10  # relative, of the score of a compliance test to the performance run
NEAR_SHORT: Final = 0.20  # likewise, for latencies below SHORT_NS
SHORT_NS: Final = {"SingleStream": 200_000, "MultiStream": 1_600_000}
MAX_QUERIES: Final = 1e9  # of one run
TOKEN_KEYS: Final = ("result_first_token_99.00_percentile_latency_ns", "result_time_per_output_token_99.00_percentile_ns")
TEST06: Final = (
    ("first token", ("First token check pass: True", "First token check pass: Skipped")),
    ("end of sequence", ("EOS check pass: True",)),
    ("sample length", ("Sample length check pass: True",)),
)
SCORES: Final[Mapping[str, str]] = {  # name in the tables -> how accuracy.txt writes it, before the number
    "acc": r"accuracy[\"']?\s*[:=]\s*",
    "mAP": r"(?:mAP=|'Total':)\s*",
    "F1": r"[\"']f1[\"']:\s*",
    "AUC": r"AUC=\s*",
    "DICE": r"Accuracy:\s*mean\s*=\s*",
    "ACCURACY": r"accuracy=\s*",
    "ROUGE1": r"'rouge1':\s*'?",
    "ROUGE2": r"'rouge2':\s*'?",
    "ROUGEL": r"'rougeL':\s*'?",
    "ROUGELSUM": r"'rougeLsum':\s*'?",
    "GEN_LEN": r"'gen_len':\s*",
    "TOKENS_PER_SAMPLE": r"'tokens_per_sample':\s*",
    "CLIP_SCORE": r"'CLIP_SCORE':\s*'?",
    "FID_SCORE": r"'FID_SCORE':\s*'?",
    "gsm8k_accuracy": r"'gsm8k':\s*",
    "mbxp_accuracy": r"'mbxp':\s*",
    "exact_match": r"'exact_match':\s*",
}
NUMBER: Final = r"([0-9]{1,18}(?:\.[0-9]{0,18})?)"
DELTAS: Final = {("stable-diffusion-xl", "FID_SCORE"): 2.0}  # %, of TEST01
RULES: Final = "inference_rules.adoc"
REFERENCE: Final = "mlcommons/inference compliance/"


@dataclass(frozen=True, kw_only=True)
class ComplianceRun:
    """The files of one compliance test."""

    performance: Log | None = None
    verify_performance: str | None = None
    verify_accuracy: str | None = None
    baseline: str | None = None  # baseline_accuracy.txt and compliance_accuracy.txt, of answers that differ
    compliance: str | None = None


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The runs of a scenario; None: not given."""

    performance: Log | None = None
    accuracy: Log | None = None
    accuracy_text: str | None = None  # accuracy.txt
    accuracy_bytes: int | None = None  # size of mlperf_log_accuracy.json
    tests: Mapping[str, ComplianceRun] = field(default_factory=dict)
    power: Samples | None = None
    given: int = 0  # log files


def judge_inference(runs: Runs, rules: InferenceRules, division: str, scenario: str, *, folder: bool) -> MlperfCheck:
    """Judge the runs of a scenario.

    Args:
        runs: as found.
        rules: of the model in the round.
        division: "closed" or "open".
        scenario: that is submitted; "": the one of the performance run.
        folder: whether the folder of the scenario was given; of a single log the other runs cannot be judged.
    """
    log = runs.performance
    run_scenario = str(log.value("effective_scenario") or "") if log else ""
    submitted = scenario or run_scenario
    found: list[Rule] = []
    if log is None:
        found.append(_absent("performance run", "a performance run", "no log below performance/, or with PerformanceOnly", folder=folder))
    else:
        found += _performance(log, rules, division, submitted)
    found += _accuracy(runs, rules, division, folder=folder)
    found += _tests(runs, rules, division, submitted, folder=folder)
    found += power_rules(runs.power, log, submitted)
    found.append(unchecked("system", "a valid description of the system, code, measurements", "not in the logs", INFERENCE_SOURCE))
    return MlperfCheck(
        suite="inference",
        title=f"MLPerf Inference {rules.round}, {rules.model} {submitted}, {division}",
        round=rules.round,
        division=division,
        benchmark=rules.model,
        scenario=submitted,
        files=runs.given,
        rules=tuple(found),
        score=_score(log, rules, run_scenario) if log else None,
    )


def _absent(name: str, required: str, reason: str, *, folder: bool) -> Rule:
    """A missing run: a failure of a folder, and unknown of a single log."""
    if folder:
        return rule(name, False, required, reason, source=INFERENCE_SOURCE)
    return unchecked(name, required, "a log was given, not the folder of the scenario", INFERENCE_SOURCE)


# ---- values ----------------------------------------------------------------------------------------------------------


def _number(log: Log, key: str) -> float | None:
    return finite(log.value(key))


def _where(log: Log, key: str) -> str:
    entry = log.first(key)
    return entry.where if entry else log.file


def _least(log: Log, name: str, key: str, least: float, unit: str = "", source: str = INFERENCE_SOURCE) -> Rule:
    """A number in the log that must not be below a bound."""
    value = _number(log, key)
    found = "missing" if value is None else f"{given(value)}{unit}"
    return rule(name, value is not None and value >= least, f">= {given(least)}{unit}", found, _where(log, key), source)


# ---- performance run -------------------------------------------------------------------------------------------------


def _performance(log: Log, rules: InferenceRules, division: str, submitted: str, prefix: str = "") -> Iterator[Rule]:
    run = str(log.value("effective_scenario") or "")
    yield rule(f"{prefix}lines", not log.broken, "every line with the marker is JSON", _lines(log), _first(log), INFERENCE_SOURCE)
    yield _validity(log, prefix)
    yield _errors(log, prefix)
    yield _scenario(run, submitted, rules, log, prefix)
    yield _least(log, f"{prefix}performance samples", "effective_performance_sample_count", rules.performance_samples)
    for name in SEEDS:
        value = log.value(f"effective_{name}")
        yield rule(
            f"{prefix}{name}", value == rules.seeds[name], str(rules.seeds[name]), value, _where(log, f"effective_{name}"), INFERENCE_SOURCE
        )
    yield from _stopping(log, run, prefix)
    if run == "Server" and rules.server_ns:
        yield _server(log, rules.server_ns, prefix)
    if run == "Offline":
        yield _least(log, f"{prefix}queries", "effective_min_query_count", 1)
        if division == "closed":
            yield _least(log, f"{prefix}samples per query", "effective_samples_per_query", rules.offline_samples)
    yield _least(log, f"{prefix}duration", "effective_min_duration_ms", rules.min_duration_ms, " ms")
    if rules.tokens is not None:
        yield from _tokens(log, rules.tokens, submitted, prefix)


def _lines(log: Log) -> str:
    return f"{len(log.broken)} broken: {log.broken[0].reason}" if log.broken else f"{len(log.entries)} lines"


def _first(log: Log) -> str:
    return log.broken[0].where if log.broken else log.file


def _validity(log: Log, prefix: str) -> Rule:
    verdict, reason = log.value("result_validity"), log.value("result_invalid_reason")
    found = f"{verdict}: {reason}" if reason and verdict != "VALID" else verdict or "missing"
    return rule(f"{prefix}LoadGen's verdict", verdict == "VALID", "VALID", found, _where(log, "result_validity"), INFERENCE_SOURCE)


def _errors(log: Log, prefix: str = "") -> Rule:
    errors = [entry for entry in log.entries if entry.metadata.get("is_error") is True]
    found = f"{len(errors)}: {errors[0].value}" if errors else "none"
    return rule(f"{prefix}errors", not errors, "none logged by LoadGen", found, errors[0].where if errors else log.file, INFERENCE_SOURCE)


def _scenario(run: str, submitted: str, rules: InferenceRules, log: Log, prefix: str) -> Rule:
    same = run == submitted or (run, submitted) == ("Server", "Interactive")
    inferred = (run, submitted) in INFERRED
    known = submitted in rules.scenarios
    required = f"{submitted}, of {', '.join(rules.scenarios)}"
    found = f"{run}, from which {submitted} is inferred (edge systems only)" if inferred and not same else run or "missing"
    return rule(f"{prefix}scenario", known and (same or inferred), required, found, _where(log, "effective_scenario"), INFERENCE_SOURCE)


def _stopping(log: Log, run: str, prefix: str) -> Iterator[Rule]:
    """LoadGen's early stopping, and the same from its counts: enough queries for the late ones among them."""
    if run not in STOPPING:
        return
    met, words = log.value("early_stopping_met"), str(log.value("early_stopping_result") or "").strip(" *\n")
    found = "met" if met is True else f"not met: {words}" if words else "not met"
    yield rule(f"{prefix}early stopping", met is True, "met", found, _where(log, "early_stopping_met"), INFERENCE_SOURCE)
    if run == "Server" and log.value("requested_use_token_latencies"):
        reason = "of token latencies the log counts no late queries; TTFT and TPOT are judged below"
        yield unchecked(f"{prefix}early stopping, recomputed", "enough queries", reason, RULES)
        return
    queries, late = _number(log, "result_query_count"), _number(log, "result_overlatency_query_count")
    stated = _number(log, "effective_target_latency_percentile")
    p = stated if stated is not None and 0.0 < stated < 1.0 else STOPPING[run]
    if queries is None or (run == "Server" and late is None) or max(queries, late or 0.0) > MAX_QUERIES or min(queries, late or 0.0) < 0.0:
        yield unchecked(f"{prefix}early stopping, recomputed", "enough queries", "the log has no usable counts", RULES)
        return
    overdue = int(late or 0) if run == "Server" else 0
    try:
        needed = least_passes(overdue, p) + overdue if run == "Server" else floor(p)
    except ValueError:  # more than any run has
        needed = int(MAX_QUERIES)
    required = f">= {needed:,} queries for p{100 * p:g}" + (f" with {overdue:,} late" if run == "Server" else "")
    where = _where(log, "result_query_count")
    yield rule(f"{prefix}early stopping, recomputed", queries >= needed, required, f"{int(queries):,} queries", where, RULES)


def _server(log: Log, limit_ns: float, prefix: str) -> Rule:
    value = _number(log, "effective_target_latency_ns")
    found = "missing" if value is None else f"{given(value / 1e6)} ms"
    held = value is not None and value <= limit_ns
    where = _where(log, "effective_target_latency_ns")
    return rule(f"{prefix}target latency", held, f"<= {given(limit_ns / 1e6)} ms", found, where, INFERENCE_SOURCE)


def _tokens(log: Log, limits: Mapping[str, Sequence[float]], submitted: str, prefix: str) -> Iterator[Rule]:
    used = bool(log.value("requested_use_token_latencies"))
    where = _where(log, "requested_use_token_latencies")
    yield rule(f"{prefix}token latencies", used, "use_token_latencies set", "set" if used else "not set", where, INFERENCE_SOURCE)
    if submitted not in ("Server", "Interactive"):
        return
    if submitted not in limits:
        yield rule(f"{prefix}token limits", False, f"limits for {submitted}", "none published", source=INFERENCE_SOURCE)
        return
    for name, key, limit in zip(("TTFT p99", "TPOT p99"), TOKEN_KEYS, limits[submitted], strict=True):
        value = _number(log, key)
        found = "missing" if value is None else f"{given(value / 1e6, 5)} ms"
        held = value is not None and value < limit
        yield rule(f"{prefix}{name}", held, f"< {given(limit / 1e6)} ms", found, _where(log, key), INFERENCE_SOURCE)


# ---- accuracy run ----------------------------------------------------------------------------------------------------


def _accuracy(runs: Runs, rules: InferenceRules, division: str, *, folder: bool) -> Iterator[Rule]:
    log = runs.accuracy
    if log is None:
        yield _absent("accuracy run", "an accuracy run", "no log below accuracy/, or with AccuracyOnly", folder=folder)
        return
    yield _errors(log, "accuracy: ")
    total = _number(log, "qsl_reported_total_count")
    where = _where(log, "qsl_reported_total_count")
    found = "missing" if total is None else given(total)
    yield rule("accuracy: data set", total == rules.dataset, f"{rules.dataset:,} samples", found, where, INFERENCE_SOURCE)
    if runs.accuracy_text is None:
        yield _absent("accuracy: score", "accuracy.txt", "no accuracy.txt", folder=folder)
        return
    yield from _scores(runs.accuracy_text, rules, division)
    size = runs.accuracy_bytes
    words = "missing" if size is None else f"{size:,} bytes"
    held = size is not None and size <= MAX_ACCURACY_BYTES
    yield rule(
        "accuracy: answers", held, f"mlperf_log_accuracy.json of at most {MAX_ACCURACY_BYTES:,} bytes", words, source=INFERENCE_SOURCE
    )


def _scores(text: str, rules: InferenceRules, division: str) -> Iterator[Rule]:
    hashed = re.search(r"^hash=\w+$", text, re.MULTILINE) is not None
    yield rule("accuracy: hash", hashed, "hash= in accuracy.txt", "there" if hashed else "missing", "accuracy.txt", INFERENCE_SOURCE)
    for name, bounds in rules.accuracy.items():
        values = _found(name, text)
        least = bounds[0]
        most = bounds[1] if len(bounds) > 1 else None
        required = f">= {given(least, 7)}" + (f" and <= {given(most, 7)}" if most is not None else "")
        if division == "open":
            yield unchecked(f"accuracy: {name}", required, f"open division; found {values[0] if values else 'none'}", INFERENCE_SOURCE)
            continue
        held = bool(values) and all(value >= least and (most is None or value <= most) for value in values)
        found = given(values[-1]) if values else "missing"
        yield rule(f"accuracy: {name}", held, required, found, "accuracy.txt", INFERENCE_SOURCE)


# ---- compliance tests ------------------------------------------------------------------------------------------------


def _tests(runs: Runs, rules: InferenceRules, division: str, submitted: str, *, folder: bool) -> Iterator[Rule]:
    if division == "open":
        yield unchecked("compliance tests", "none in the open division", "not required", REFERENCE)
        return
    for name in rules.tests:
        test = runs.tests.get(name)
        if test is None:
            yield _absent(name, f"the compliance test {name}", f"no folder {name}", folder=folder)
            continue
        if name == "TEST06":
            yield from _test06(test)
            continue
        if test.performance is None:
            yield rule(name, False, "a performance run of the test", "no log", source=REFERENCE)
            continue
        yield from _run_of(name, test.performance, rules, division, submitted)
        yield _near(name, test.performance, runs.performance, rules)
        yield _says(f"{name}: verified", test.verify_performance, "TEST PASS", "verify_performance.txt")
        if name == "TEST01":
            yield from _test01(test, rules)


def _run_of(name: str, log: Log, rules: InferenceRules, division: str, submitted: str) -> Iterator[Rule]:
    """The failures of a test's performance run; if there are none, that there are none."""
    found = list(_performance(log, rules, division, submitted, f"{name}: "))
    failed = [one for one in found if one.status == "fail"]
    yield from failed or [rule(f"{name}: run", True, "the rules of a performance run", f"all {len(found)} hold", log.file, REFERENCE)]


def _test01(test: ComplianceRun, rules: InferenceRules) -> Iterator[Rule]:
    """The answers are those of the accuracy run, or their scores differ by at most 1 % (0.1 % of a 99.9 % model)."""
    if "TEST PASS" in (test.verify_accuracy or "") or test.baseline is None or test.compliance is None:
        yield _says("TEST01: answers", test.verify_accuracy, "TEST PASS", "verify_accuracy.txt")
        return
    for name in rules.accuracy:
        limit = DELTAS.get((rules.model, name), 0.1 if "99.9" in rules.model else 1.0)
        before, after = (_found(name, text) for text in (test.baseline, test.compliance))
        held = bool(before and after) and after[-1] > 0.0 and abs(1.0 - before[-1] / after[-1]) * 100.0 <= limit
        words = f"{given(before[-1], 7)} and {given(after[-1], 7)}" if before and after else "missing"
        yield rule(f"TEST01: {name}", held, f"at most {limit:g} % apart", words, "compliance_accuracy.txt", REFERENCE)


def _found(name: str, text: str) -> list[float]:
    return [float(number) for number in re.findall(SCORES[name] + NUMBER, text)]


def _says(name: str, text: str | None, words: str, file: str) -> Rule:
    found = "no file" if text is None else words if words in text else "not so"
    return rule(name, bool(text) and words in str(text), f"{words} in {file}", found, file, REFERENCE)


def _test06(test: ComplianceRun) -> Iterator[Rule]:
    lines = {line.strip() for line in (test.verify_accuracy or "").splitlines()}
    for name, wanted in TEST06:
        held = any(words in lines for words in wanted)
        found = "no file" if test.verify_accuracy is None else "so" if held else "not so"
        yield rule(f"TEST06: {name}", held, wanted[0], found, "verify_accuracy.txt", REFERENCE)


def _near(name: str, test: Log, log: Log | None, rules: InferenceRules) -> Rule:
    """The test's score is near that of the performance run: answers are not cached, or not made from a smaller set."""
    scenario = str(test.value("effective_scenario") or "")
    key = rules.metric.get(scenario, "")
    ours, theirs = (None if one is None else _number(one, key) for one in (log, test))
    if ours is None or theirs is None:
        return rule(f"{name}: score", False, "a score in both runs", "missing", _where(test, key), REFERENCE)
    near = NEAR_SHORT if ours <= SHORT_NS.get(scenario, 0) else NEAR
    held = ours * (1.0 - near) <= theirs <= ours * (1.0 + near)
    found = f"{given(theirs, 6)}, {100 * abs(theirs / ours - 1):.1f} % apart" if ours else given(theirs, 6)
    return rule(f"{name}: score", held, f"within {100 * near:g} % of {given(ours, 6)}", found, _where(test, key), REFERENCE)


# ---- score -----------------------------------------------------------------------------------------------------------


def _score(log: Log, rules: InferenceRules, scenario: str) -> Score | None:
    key = rules.metric.get(scenario, "")
    value = _number(log, key)
    if value is None:
        return None
    if scenario in ("SingleStream", "MultiStream"):
        return Score(title=f"latency of {scenario}", text=f"{given(value / 1e6, 5)} ms", value=value / 1e6, unit="ms")
    unit = "tokens/s" if "token" in key else "samples/s"
    return Score(title=f"throughput of {scenario}", text=f"{given(value, 6)} {unit}", value=value, unit=unit)
