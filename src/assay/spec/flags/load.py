"""How do the flags of `assay load` become an experiment?

    assay load http://localhost:8000 --model M --scenario "D(100,100)" --concurrency 1,8,16 --slo ttft=0.2,tpot=0.05

Every flag stands for one key (`FLAGS`); the addresses are the replicas of one engine.  All wrong flags are told at once, under
the names that the user wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from assay.clock import SystemClock
from assay.errors import Problem, SpecError

if TYPE_CHECKING:
    import argparse

    from assay.spec.experiment import Experiment

PRICE_SOURCE: Final = "given as --price"
LAUNCHES: Final = 3  # of each load, where nothing else is asked for: the fewest that carry an interval
# What --goodput asks for where no objectives are given: MLPerf's server constraints of llama2-70b, 2 s and 0.2 s.
DEFAULT_OBJECTIVES: Final = {"ttft_s": 2.0, "tpot_s": 0.2}
OBJECTIVES: Final = {"ttft": "ttft_s", "ttft_visible": "ttft_visible_s", "tpot": "tpot_s", "itl": "itl_s", "e2e": "e2e_s", "e2el": "e2e_s"}
UNITS: Final = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

Read = Callable[[str], Any]


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag, the key that it stands for, and how its text is read; `read` raises ValueError with what is allowed."""

    name: str
    path: str
    metavar: str
    help: str
    read: Read = str
    many: bool = False

    @property
    def attribute(self) -> str:
        """The name under which the parser keeps it."""
        return "key_" + self.name.removeprefix("--").replace("-", "_")


def seconds(text: str) -> float:
    """ "120s", "2m", "500ms", "1.5" (seconds)."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*([a-z]*)\s*", text)
    if found is None or found[2] not in UNITS:
        raise ValueError("a time such as 120s, 2m, 500ms or 1.5 (seconds)")
    return float(found[1]) * UNITS[found[2]]


def _whole(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
        raise ValueError("a whole number")
    return int(text)


def _wholes(text: str) -> list[int]:
    try:
        return [_whole(part) for part in text.split(",")]
    except ValueError:
        raise ValueError("whole numbers with commas and no spaces, as in 1,8,16") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("a number")
    return value


def _numbers(text: str) -> list[float]:
    try:
        return [_number(part) for part in text.split(",")]
    except ValueError:
        raise ValueError("numbers with commas and no spaces, as in 5,10,20") from None


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("a date such as 2026-01-31") from None


def objectives(text: str) -> dict[str, float]:
    """ "ttft=0.2,tpot=50ms" as keys of serving.objectives; "ttft:200" is milliseconds, as in vLLM's --goodput."""
    found: dict[str, float] = {}
    for part in text.replace(" ", ",").split(","):
        name, sign, value = re.fullmatch(r"([a-z0-9_]*)([=:]?)(.*)", part.strip().lower()).groups()  # type: ignore[union-attr]
        if name not in OBJECTIVES or not sign:
            raise ValueError(f"NAME=TIME with commas, NAME one of {', '.join(OBJECTIVES)}, as in ttft=0.2,tpot=50ms")
        bare = sign == ":" and re.fullmatch(r"[0-9.]+", value) is not None
        found[OBJECTIVES[name]] = seconds(f"{value}ms" if bare else value)
    return found


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError('"NAME: TEXT", as in "X-Team: search"; {env:NAME} takes a secret from the environment')
    return name.strip(), value.strip()


_T = "serving.targets[0]"
FLAGS: Final[tuple[Flag, ...]] = (
    Flag(name="--model", path="serving.model", metavar="NAME", help="the model's name in requests"),
    Flag(name="--backend", path=f"{_T}.backend", metavar="NAME", help="which dialect the server speaks (openai)"),
    Flag(name="--task", path="serving.task", metavar="NAME", help="chat, completions, embeddings, rerank, image_chat (chat)"),
    Flag(name="--scenario", path="serving.scenarios", metavar="S", help='lengths, as "D(100,100)"; may be repeated', many=True),
    Flag(name="--concurrency", path="serving.concurrency", metavar="1,8,16", help="loads: requests in flight", read=_wholes),
    Flag(name="--rate", path="serving.rate", metavar="5,10,20", help="loads: requests per second", read=_numbers),
    Flag(
        name="--arrival", path="serving.arrivals.process", metavar="HOW", help="closed, constant, poisson, gamma, users, trace, server ..."
    ),
    Flag(name="--cv", path="serving.arrivals.cv", metavar="CV", help="for gamma: variation of the gaps (1)", read=_number),
    Flag(
        name="--duration",
        path="serving.arrivals.duration_s",
        metavar="T",
        help="measured part of each load, as 120s or 2m (30s)",
        read=seconds,
    ),
    Flag(name="--warm-up", path="serving.arrivals.warm_up_s", metavar="T", help="load before it, never counted (2s)", read=seconds),
    Flag(name="--requests", path="serving.arrivals.requests", metavar="N", help="end a load after so many requests", read=_whole),
    Flag(name="--cold", path="serving.arrivals.cold", metavar="N", help="first requests, reported apart as cold (1)", read=_whole),
    Flag(name="--trace", path="serving.arrivals.trace", metavar="FILE", help="replay arrivals: Mooncake, BurstGPT, Azure, own JSONL"),
    Flag(name="--speed", path="serving.arrivals.speed", metavar="X", help="how much faster the trace is replayed (1)", read=_number),
    Flag(
        name="--slo", path="serving.objectives", metavar="SLO", help="objectives of a good request, as ttft=0.2,tpot=50ms", read=objectives
    ),
    Flag(
        name="--attainment",
        path="serving.objectives.attainment",
        metavar="P",
        help="share of requests that must meet them (0.99)",
        read=_number,
    ),
    Flag(name="--tokenizer", path="serving.tokenizer", metavar="PATH", help="the model's own tokenizer.json, for exact lengths"),
    Flag(name="--prompts", path="serving.prompts.source", metavar="FILE", help="texts to send: text, JSONL, CSV, ShareGPT"),
    Flag(name="--prompt-field", path="serving.prompts.field", metavar="NAME", help="field of the text in JSONL or CSV (prompt)"),
    Flag(name="--answer-field", path="serving.prompts.answer_field", metavar="NAME", help="field of the reference answer, for quality"),
    Flag(name="--quality-metric", path="quality.metric", metavar="NAME", help="judge answers: exact_match, accuracy or contains"),
    Flag(name="--margin", path="quality.margin", metavar="M", help="largest loss of it that counts as held (0.01)", read=_number),
    Flag(name="--cluster-field", path="quality.cluster", metavar="NAME", help="field that says what prompts share (a passage, a user)"),
    Flag(
        name="--prefix-tokens",
        path="serving.prompts.prefix_tokens",
        metavar="N",
        help="tokens that prompts share at their begin (0)",
        read=_whole,
    ),
    Flag(name="--cache", path="serving.prompts.cache", metavar="HOW", help="bust (every prompt begins differently) or as_is"),
    Flag(name="--turns", path="serving.prompts.turns", metavar="N", help="requests in one conversation (1)", read=_whole),
    Flag(name="--think", path="serving.prompts.think_s", metavar="T", help="mean pause of a user between turns (0)", read=seconds),
    Flag(
        name="--canaries",
        path="serving.correctness.canaries",
        metavar="P",
        help="share of requests with a nonce, to find cross-talk",
        read=_number,
    ),
    Flag(
        name="--identity",
        path="serving.correctness.identity",
        metavar="N",
        help="prompts sent to every replica, to compare answers",
        read=_whole,
    ),
    Flag(name="--api-key-env", path=f"{_T}.api_key_env", metavar="VAR", help="variable that holds the API key"),
    Flag(
        name="--header",
        path=f"{_T}.headers",
        metavar="H",
        help='a further header, as "NAME: TEXT"; may be repeated',
        read=_header,
        many=True,
    ),
    Flag(name="--metrics", path=f"{_T}.metrics", metavar="URL", help="a Prometheus endpoint to read meanwhile; may be repeated", many=True),
    Flag(name="--processes", path="serving.client.processes", metavar="N", help="client processes (1)", read=_whole),
    Flag(name="--request-timeout", path="serving.client.timeout_s", metavar="T", help="longest time of one request (600s)", read=seconds),
    Flag(name="--temperature", path="serving.temperature", metavar="T", help="sampling temperature (0)", read=_number),
    Flag(name="--launches", path="launches.per_configuration", metavar="N", help=f"launches of each load ({LAUNCHES})", read=_whole),
    Flag(name="--seed", path="launches.seed", metavar="N", help="fixes the order, the arrivals and the texts", read=_whole),
    Flag(name="--confidence", path="launches.confidence", metavar="C", help="confidence of every interval (0.95)", read=_number),
    Flag(name="--precision", path="launches.precision", metavar="P", help="add launches until intervals are this narrow", read=_number),
    Flag(name="--name", path="name", metavar="NAME", help="names the record (the model or the host)"),
    Flag(name="--price", path="prices.usd_per_worker_hour", metavar="USD", help="price of one replica for one hour", read=_number),
    Flag(name="--price-date", path="prices.date", metavar="DATE", help="date of the price (today)", read=_date),
    Flag(name="--price-source", path="prices.source", metavar="TEXT", help="where the price is from"),
    Flag(
        name="--watts",
        path="energy.modelled_watts_per_worker",
        metavar="W",
        help="watts of one replica: energy is then modelled",
        read=_number,
    ),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the addresses and every flag; values stay text until `experiment_from`."""
    parser.add_argument("urls", nargs="+", metavar="URL", help="where the server listens; several URLs are replicas of one engine")
    group = parser.add_argument_group("keys of the experiment")
    for flag in FLAGS:
        group.add_argument(flag.name, dest=flag.attribute, metavar=flag.metavar, help=flag.help, action="append" if flag.many else "store")
    group.add_argument("--no-stream", action="store_true", help="ask for whole answers; there is then no TTFT")
    group.add_argument("--no-verify-tls", action="store_true", help="do not check certificates")
    group.add_argument("--search", action="store_true", help="search the highest rate that meets the objectives")
    group.add_argument(
        "--goodput",
        nargs="?",
        const="",
        metavar="SLO",
        help="goodput decides; objectives as for --slo (2 s and 0.2 s of TTFT and TPOT if none are given)",
    )


def experiment_from(namespace: argparse.Namespace, *, today: date | None = None) -> Experiment:
    """The experiment.

    Raises:
        SpecError: every problem of the flags at once.
    """
    data, problems = mapping(namespace, today or SystemClock().utc().date())
    from assay.spec.load import checked

    try:
        experiment = checked(data, Path(), "the flags", {})
    except SpecError as error:
        told = {problem.where for problem in problems}
        more = (_as_flag(problem) for problem in error.problems)
        raise SpecError((*problems, *(problem for problem in more if problem.where not in told)), "the flags") from None
    if problems:
        raise SpecError(tuple(problems), "the flags")
    return experiment


def mapping(namespace: argparse.Namespace, today: date) -> tuple[dict[str, Any], list[Problem]]:
    """The keys as a file would hold them, and the flags that could not be read."""
    problems = [problem for url in namespace.urls if (problem := _wrong_url(url)) is not None]
    data: dict[str, Any] = {
        "workload": {"runner": "serving", "work": "tokens"},
        "launches": {"per_configuration": LAUNCHES},
        "gates": {"efficiency": "none"},
        "serving": {"targets": [{"urls": list(dict.fromkeys(namespace.urls))}]},
    }
    for flag in FLAGS:
        given = getattr(namespace, flag.attribute, None)
        if given is not None:
            _put(data, flag, given, problems)
    _switches(data, namespace, problems)
    _defaults(data, namespace, today)
    return data, problems


def _put(data: dict[str, Any], flag: Flag, given: str | list[str], problems: list[Problem]) -> None:
    try:
        value: Any = [flag.read(one) for one in given] if isinstance(given, list) else flag.read(given)
    except ValueError as error:
        shown = ", ".join(given) if isinstance(given, list) else given
        problems.append(Problem(where=flag.name, found=shown or "nothing", allowed=str(error)))
        return
    if flag.read is _header:
        value = dict(value)
    place, key = _place(data, flag.path)
    if flag.path == "serving.objectives":
        place.setdefault(key, {}).update(value)
    else:
        place[key] = value


def _place(data: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The table that holds a key, made if need be, and the key's own name."""
    place: Any = data
    *above, key = path.replace("[0]", ".[0]").split(".")
    for name in above:
        place = place[0] if name == "[0]" else place.setdefault(name, {})
    return place, key


def _switches(data: dict[str, Any], namespace: argparse.Namespace, problems: list[Problem]) -> None:
    serving = data["serving"]
    if namespace.no_stream:
        serving["stream"] = False
    if namespace.no_verify_tls:
        serving.setdefault("client", {})["verify_tls"] = False
    if namespace.search:
        serving["search"] = True
    if namespace.goodput is not None:
        data.setdefault("comparison", {})["primary"] = "goodput"
        try:
            serving.setdefault("objectives", {}).update(objectives(namespace.goodput) if namespace.goodput else {})
        except ValueError as error:
            problems.append(Problem(where="--goodput", found=namespace.goodput, allowed=str(error)))
        if not set(serving["objectives"]) - {"attainment"}:
            serving["objectives"].update(DEFAULT_OBJECTIVES)


def _defaults(data: dict[str, Any], namespace: argparse.Namespace, today: date) -> None:
    serving = data["serving"]
    arrivals = serving.setdefault("arrivals", {})
    if "rate" in serving:
        arrivals.setdefault("process", "poisson")
    if "trace" in arrivals:
        arrivals.setdefault("process", "trace")
    if not {"rate", "concurrency"} & set(serving) and arrivals.get("process", "closed") in ("closed", "users"):
        serving["concurrency"] = [1]
    if "prices" in data and "usd_per_worker_hour" in data["prices"]:
        data["prices"] = {"source": PRICE_SOURCE, "date": today, **data["prices"]}
    if "energy" in data:
        data["energy"]["source"] = "modelled"
    if "prompts" in serving and "source" in serving["prompts"]:
        serving.setdefault("scenarios", ["dataset"])
    data.setdefault("name", name_from(str(serving.get("model", "")), namespace.urls[0]))


def name_from(model: str, url: str) -> str:
    """A record's name: the model's, else the host's."""
    text = model.rpartition("/")[2] or (urlsplit(url).hostname or "load")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:80] or "load"


def _wrong_url(url: str) -> Problem | None:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if fine:
        return None
    mend = f"Write http://{url} if that is meant." if re.fullmatch(r"[\w.-]+(:\d+)?", url) else ""
    return Problem(where="URL", found=url, allowed="http://HOST:PORT or https://HOST:PORT", mend=mend)


def _as_flag(problem: Problem) -> Problem:
    """The problem under the name of the flag that gives its key."""
    path = problem.where.partition(" (line ")[0]
    if path.startswith(f"{_T}.urls"):
        return replace(problem, where="URL")
    for flag in FLAGS:
        if path == flag.path or path.startswith(f"{flag.path}["):
            return replace(problem, where=flag.name)
    return problem


def notes(given: argparse.Namespace) -> tuple[str, ...]:
    """What was taken as a default and is worth knowing."""
    found = []
    if getattr(given, "goodput", None) == "" and getattr(given, "key_slo", None) is None:
        found.append("no objectives were given: a good request has its first token within 2 s and 0.2 s for each one after (--slo).")
    if getattr(given, "key_tokenizer", None) is None:
        found.append(
            "no tokenizer was given: prompt lengths are words, and the server's usage says how many tokens they were (--tokenizer)."
        )
    return tuple(found)
