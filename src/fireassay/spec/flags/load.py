"""How do the flags of `assay load` become an experiment?

    assay load http://localhost:8000 --model M --scenario "D(100,100)" --concurrency 1,8,16 --slo ttft=0.2,tpot=0.05

Every flag except --goodput sets one key; the addresses are the replicas of one engine, or engines as NAME=URL.  All errors are reported
at once, under the flags' names.  A record instead of an address gives every key that no flag sets.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fireassay.clock import SystemClock
from fireassay.errors import Problem, SpecError
from fireassay.spec.flags import of_verb
from fireassay.spec.flags.of_verb import Stored
from fireassay.spec.model import PRICE_SOURCE, Unreadable, slo
from fireassay.spec.rules.serving import INSIDE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from fireassay.spec.experiment import Experiment

VERB: Final = "load"
# Objectives of --goodput if none are given: MLPerf's server constraints for llama2-70b, 2 s and 0.2 s.
DEFAULT_OBJECTIVES: Final = {"ttft_s": 2.0, "tpot_s": 0.2}
LONG_LAUNCHES: Final = 5  # where one launch is long; the fewest for a reliable interval
SHORT_ENOUGH: Final = ("closed", "constant", "poisson", "gamma", "users")  # arrivals that 10 s show
QUICK: Final = (  # of --quick, unless a flag says it: attribute, key, value
    ("key_launches", "launches.per_configuration", 1),
    ("key_duration", "serving.arrivals.duration_s", 15.0),
    ("key_warm_up", "serving.arrivals.warm_up_s", 1.0),
)
URLS: Final = re.compile(r"serving\.targets\[\d+\]\.urls")
# Of a request, not of a server; Azure has servers at /models and /score.
REQUEST_PATH: Final = re.compile(
    r"(?:(?:/v1)?/chat/completions|/v1/(?:completions|embeddings|rerank|score|responses|models|images/generations|audio/speech))/?$"
)
NAMED: Final = re.compile(r"([A-Za-z][A-Za-z0-9._-]*)=(.+)")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the addresses and every flag; values stay text until `experiment_from`."""
    parser.add_argument(
        "urls",
        nargs="+",
        metavar="URL",
        help="where the server listens; several are replicas of one engine, a=URL b=URL are two engines; a folder: a model in this process",
    )
    group = parser.add_argument_group("keys of the experiment")
    of_verb.declare(group, of_verb.flags_of(VERB))
    group.add_argument(
        "--goodput",
        nargs="?",
        const="",
        metavar="SLO",
        help="goodput decides; objectives as for --slo (2 s and 0.2 s of TTFT and TPOT if none are given)",
    )


def experiment_from(namespace: argparse.Namespace, *, today: date | None = None, recorded: Stored | None = None) -> Experiment:
    """The experiment that the flags describe, or a recorded one with the flags on top.

    Raises:
        SpecError: every problem of the flags at once.
    """
    day = today or SystemClock().utc().date()
    if recorded is not None:
        return of_verb.experiment_of(*again(recorded.data, namespace, day), _as_flag, recorded.folder)
    return of_verb.experiment_of(*mapping(namespace, day), _as_flag)


def again(data: dict[str, Any], namespace: argparse.Namespace, today: date) -> tuple[dict[str, Any], list[Problem]]:
    """The keys of a record with those of the given flags on top, and the flags that could not be read."""
    given = of_verb.given(namespace, of_verb.flags_of(VERB))
    serving = data["serving"]
    names = {item.name for item in given}
    for flag, other in (("--rate", "concurrency"), ("--concurrency", "rate")):
        if flag in names and serving.get(other):  # the other kind of load, with arrivals of its own
            serving.pop(other)
            serving.get("arrivals", {}).pop("process", None)
    if data["launches"].pop("quick", False) and "--quick" not in names:  # its load with the launches that a verdict needs
        data.pop("noise", None)
        of_verb.put_defaults(data, (item for item in of_verb.flags_of(VERB) if item.path in {path for _, path, _ in QUICK}))
    problems = of_verb.put_all(data, given)
    if "--quick" in names:
        _lengths(data, namespace)
    if namespace.goodput is not None:
        problems += _goodput(data, namespace.goodput)
    _completed(data, today)
    return data, problems


def mapping(namespace: argparse.Namespace, today: date) -> tuple[dict[str, Any], list[Problem]]:
    """The keys as in a file, and the flags that could not be read."""
    targets, problems = _targets(namespace.urls)
    data: dict[str, Any] = {
        "workload": {"runner": "serving", "work": "tokens"},
        "gates": {"efficiency": "none"},
        "serving": {"targets": targets},
    }
    problems += of_verb.put_flags(data, VERB, namespace)[1]
    of_verb.put_models(data["serving"])
    if namespace.goodput is not None:
        problems += _goodput(data, namespace.goodput)
    _defaults(data, namespace, today)
    return data, problems


def _goodput(data: dict[str, Any], text: str) -> list[Problem]:
    """Make goodput primary, by the given objectives; returns what could not be read."""
    problems = []
    of_verb.put(data, "comparison.primary", "goodput")
    limits = data["serving"].setdefault("objectives", {})
    try:
        limits.update(slo(text) if text else {})
    except Unreadable as error:
        problems.append(Problem("--goodput", text, error.allowed, error.fix))
    if not set(limits) - {"attainment"}:
        limits.update(DEFAULT_OBJECTIVES)
    return problems


def _defaults(data: dict[str, Any], namespace: argparse.Namespace, today: date) -> None:
    serving = data["serving"]
    _lengths(data, namespace)
    _completed(data, today)
    if not {"rate", "concurrency"} & set(serving) and serving["arrivals"].get("process", "closed") in ("closed", "users"):
        serving["concurrency"] = [1]
    if "prompts" in serving and "source" in serving["prompts"]:
        serving.setdefault("scenarios", ["dataset"])
    data.setdefault("name", name_from(str(serving.get("model", "")), *serving["targets"]))


def _lengths(data: dict[str, Any], namespace: argparse.Namespace) -> None:
    """One short launch with --quick; else many short launches, unless the flags say how long one is: then fewer, which end as before."""
    arrivals = data["serving"].get("arrivals", {})
    if data["launches"].get("quick"):
        of_verb.put(data, "noise.sentinel_s", 0.0)
        for attribute, path, value in QUICK:
            if getattr(namespace, attribute) is None:
                of_verb.put(data, path, value)
        return
    long = {"requests", "trace"} & set(arrivals) or arrivals.get("process", "closed") not in SHORT_ENOUGH
    if namespace.key_duration is None and not long:
        return
    if namespace.key_duration is None:
        arrivals.pop("duration_s", None)
    if namespace.key_launches is None:
        of_verb.put(data, "launches.per_configuration", LONG_LAUNCHES)


def _completed(data: dict[str, Any], today: date) -> None:
    """What the given keys imply."""
    serving = data["serving"]
    arrivals = serving.setdefault("arrivals", {})
    if "rate" in serving:
        arrivals.setdefault("process", "poisson")
    if "trace" in arrivals:
        arrivals.setdefault("process", "trace")
    if "prices" in data and "usd_per_worker_hour" in data["prices"]:
        data["prices"] = {"source": PRICE_SOURCE, "date": today, **data["prices"]}
    if data.get("launcher", {}).get("hosts"):
        data["launcher"].setdefault("kind", "nodes")
    if "modelled_watts_per_worker" in data.get("energy", {}):
        data["energy"]["source"] = "modelled"


def name_from(model: str, *targets: Mapping[str, Any]) -> str:
    """A record's name: the model, and the engines if there are several; without both the host."""
    engines = "-vs-".join(str(target.get("name", "engine")) for target in targets) if len(targets) > 1 else ""
    parts = [part for part in (model.rpartition("/")[2], engines) if part]
    text = (
        "-".join(parts) or urlsplit(str(targets[0].get("urls", [""])[0])).hostname or Path(str(targets[0].get("model", ""))).name or "load"
    )
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:80] or "load"


def _targets(words: Sequence[str]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The engines that the addresses name: one with replicas, or one for each NAME in NAME=URL; a folder is a model in this process."""
    named = [NAMED.fullmatch(word) for word in words]
    pairs = [(match[1], match[2]) if match else ("", word) for match, word in zip(named, words, strict=True)]
    problems = [problem for _, url in pairs if not is_model(url) and (problem := _wrong_url(url)) is not None]
    if any(named) and not all(named):
        bare = next(url for name, url in pairs if not name)
        problems.append(Problem("URL", f"{bare} next to NAME=URL", "a name for every URL, or for none"))
    urls: dict[str, list[str]] = {}
    for name, url in dict.fromkeys(pairs):
        urls.setdefault(name, []).append(url)
    where = {
        name: {"backend": INSIDE, "model": each[0]} if each[1:] == [] and is_model(each[0]) else {"urls": each}
        for name, each in urls.items()
    }
    return [{**({"name": name} if name else {}), **each} for name, each in where.items()], problems


def is_model(place: str) -> bool:
    """Whether it is a folder with a model."""
    return (Path(place) / "config.json").is_file()


def _wrong_url(url: str) -> Problem | None:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if fine and (server := REQUEST_PATH.sub("", parts.path)) != parts.path:
        address = f"{parts.scheme}://{parts.netloc}{server}"
        return Problem("URL", url, "the server's address without the path of a request", f"Write {address}")
    if fine:
        return None
    remedy = f"Write http://{url} if that is meant." if re.fullmatch(r"[\w.-]+(:\d+)?", url) else ""
    return Problem("URL", url, "http://HOST:PORT or https://HOST:PORT", remedy)


@contextmanager
def as_flags() -> Iterator[None]:
    """Name the problems of the load's files by their flags."""
    try:
        yield
    except SpecError as error:
        raise SpecError(map(_as_flag, error.problems), "" if error.source == "the load" else error.source) from error


def _as_flag(problem: Problem) -> Problem:
    """The problem under the name of the flag that sets its key."""
    if URLS.match(problem.where):
        return replace(problem, where="URL")
    return of_verb.as_flag(problem, of_verb.flags_of(VERB))


def notes(given: argparse.Namespace) -> tuple[str, ...]:
    """Defaults worth knowing about."""
    texts = []
    if getattr(given, "goodput", None) == "" and getattr(given, "key_slo", None) is None:
        texts.append("no objectives were given: a good request has its first token within 2 s and 0.2 s for each one after (--slo).")
    if getattr(given, "key_tokenizer", None) is None:
        texts.append("no tokenizer was given: prompt lengths are words; the server's usage counts tokens.")
    return tuple(texts)
