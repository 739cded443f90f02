"""How do the flags of `assay evaluate` become an experiment?

    assay evaluate --task gsm8k --data test.jsonl --target http://localhost:8000 --model M

Every flag except --target sets one key; all errors are reported at once, under the flags' names.

How do the flags of `assay score` become an experiment?

    assay score answers.jsonl --metric rouge_l,bleu,f1 --reference gold

Every flag sets one key; all errors are reported at once, under the flags' names.
"""

from __future__ import annotations

import argparse
import re
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.clock import SystemClock
from fireassay.errors import Problem, SpecError, refuse
from fireassay.printable import some
from fireassay.spec.explain import did_you_mean, shown
from fireassay.spec.flags import of_verb
from fireassay.spec.flags.experiment import NAME_LENGTH
from fireassay.spec.model import PRICE_SOURCE
from fireassay.spec.rules.evaluation import LOAD
from fireassay.spec.rules.serving import INSIDE
from fireassay.spec.sections.evaluation import MAX_NAME_LENGTH, answer_file
from fireassay.spec.sections.judge import JUDGED
from fireassay.spec.sections.ratings import SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fireassay.spec.experiment import Experiment


VERB: Final = "evaluate"
NAMED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(.+)")
NO_TARGET: Final = Problem("--target", "nothing", "an engine's address, or a folder with a model", "As in --target http://localhost:8000.")
WITHOUT_TARGET: Final = (  # keys of flags that mean something for answers that exist already
    *("evaluation.task", "evaluation.data", "evaluation.metrics", "evaluation.options", "quality."),
    *("launches.confidence", "launches.seed", "data.", "name"),
)
SAMPLED: Final = 0.8  # temperature of samples for pass@k, as of Chen et al., arXiv:2107.03374


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; values stay text until `experiment_from`."""
    parser.add_argument(
        "--target",
        dest="targets",
        action="append",
        default=[],
        metavar="[NAME=]URL|FOLDER",
        help="an engine, or a folder with a model, run in this process; may be repeated, the first is the reference",
    )
    of_verb.declare(parser.add_argument_group("keys of the experiment"), of_verb.flags_of(VERB))


def experiment_from(namespace: argparse.Namespace) -> Experiment:
    """The experiment that the flags describe. Raises SpecError: every problem of the flags at once."""
    targets: list[dict[str, Any]] = []
    for index, text in enumerate(namespace.targets):
        targets.append(_target(text, index, len(namespace.targets), [target["name"] for target in targets]))
    data: dict[str, Any] = {
        "workload": {"runner": "evaluation", "work": "tokens"},
        "gates": {"efficiency": "none"},
        "serving": {**LOAD, "targets": targets, "concurrency": [8]},
        "evaluation": {},
    }
    texts, problems = of_verb.put_flags(data, VERB, namespace)
    of_verb.put_models(data["serving"])
    problems += [*_missing(data), *([] if targets else [NO_TARGET])]
    _sample(data, {item.name for item in texts})
    task = str(data["evaluation"].get("task", "task"))
    data["serving"]["prompts"] = {"source": str(data["evaluation"].get("data") or task), "cache": "as_is"}
    if "usd_per_worker_hour" in data.get("prices", {}):
        data["prices"] = {"source": PRICE_SOURCE, "date": SystemClock().utc().date(), **data["prices"]}
    data.setdefault("name", Path(task).stem or "task")
    if "quality" in data:
        judged = (JUDGED,) if "judge" in data["evaluation"] else ()
        data["quality"]["metric"] = next(iter((*judged, *(data["evaluation"].get("metrics") or ("task",)))))
    return of_verb.experiment_of(data, problems, as_flag)


def held_experiment(namespace: argparse.Namespace, held: Mapping[str, Any]) -> Experiment:
    """The experiment that judges what the data holds already; `held`: its keys of [evaluation]. Raises SpecError: a flag that engines need."""
    data: dict[str, Any] = {
        "workload": {"runner": "answers", "work": "items"},
        "gates": {"efficiency": "none"},
        "noise": {"sentinel_s": 0.0},  # nothing is timed
        "serving": {"targets": [{}]},  # for flags that are refused here
        "evaluation": dict(held),
    }
    texts, problems = of_verb.put_flags(data, VERB, namespace)
    del data["serving"]
    problems += [
        Problem(item.name, shown(text), "none without --target: nothing is sent", "Leave it out, or name an engine.")
        for item, text in texts.items()
        if not item.path.startswith(WITHOUT_TARGET)
    ]
    data.setdefault("name", data["evaluation"]["task"])
    if "quality" in data:
        data["quality"]["metric"] = next(iter((*data["evaluation"].get("metrics", ()), *held["given"]["fields"])))
    return of_verb.experiment_of(data, problems, as_flag)


def _sample(data: dict[str, Any], given: set[str]) -> None:
    """pass@k, votes and the best of k above 1 need as many answers to each item, which differ only if they are sampled; unless the user says otherwise."""
    steps = data["evaluation"].get("steps", {})
    votes = steps.get("levels", "") if steps.get("what", "samples") == "samples" else ""
    best_of = data["evaluation"].get("best_of", {}).get("candidates", "")
    wanted = max(
        (int(k) for text in (data["evaluation"].get("k", ""), votes, best_of) for k in re.findall(r"\d{1,4}", str(text))), default=1
    )
    if wanted > 1 and "--repetitions" not in given:
        data.setdefault("launches", {})["per_configuration"] = wanted
    if wanted > 1 and "--temperature" not in given:
        data["serving"]["temperature"] = SAMPLED


def _missing(data: dict[str, Any]) -> Iterator[Problem]:
    evaluation = data["evaluation"]
    if not evaluation.get("task"):
        yield Problem("--task", "nothing", "a layout, or an own task's TOML file", "As in --task gsm8k.")
    elif not evaluation.get("data") and not str(evaluation["task"]).endswith(".toml"):
        yield Problem("--data", "nothing", "the file or folder with the task's data", "As in --data test.jsonl.")


def _target(text: str, index: int, count: int, taken: Sequence[str]) -> dict[str, Any]:
    """An address is called a, b, ...; a folder by its own name, with a number where two have the same."""
    match = NAMED.fullmatch(text)
    named, place = (match[1], match[2]) if match and "://" not in match[1] else ("", text)
    if "://" in place:
        return {"name": named or ("engine" if count == 1 else "abcdefghijklmnopqrstuvwxyz"[index % 26]), "urls": [place]}
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(place).name)[:36].strip("-._") or "engine"
    name = named or next(each for number in range(1, count + 1) if (each := plain if number == 1 else f"{plain}-{number}") not in taken)
    return {"name": name, "backend": INSIDE, "model": place}


def as_flag(problem: Problem) -> Problem:
    """The problem under the name of the flag that sets its key."""
    return of_verb.as_flag(problem, of_verb.flags_of(VERB))


SCORE: Final = "score"
REFERENCE_SIDE: Final = "reference_side"  # a flag that is no key: the first of `answers`
MAX_NAMED: Final = 10  # sides in a message


def add_score_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; values stay text until `score_experiment`."""
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="JSONL or CSV with one answer per line; the first is the reference side"
    )
    parser.add_argument("--reference-side", metavar="NAME", help="with --side: the value that is the reference (the first one)")
    of_verb.declare(parser.add_argument_group("keys of the experiment"), of_verb.flags_of(SCORE))


def side_field(namespace: argparse.Namespace) -> str:
    """The field of --side; empty without it. Raises SpecError: there are several files, or --reference-side without it."""
    field: str = getattr(namespace, f"{of_verb.PREFIX}side") or ""
    if field and len(namespace.files) > 1:
        fix = "Give one file that holds all sides, or one file for each side without --side."
        raise refuse("--side", f"{field}, with {len(namespace.files)} files", "one file", fix, source="the flags")
    if namespace.reference_side and not field:
        fix = "As in --side model --reference-side base."
        raise refuse("--reference-side", namespace.reference_side, "only with --side", fix, source="the flags")
    return field


def sides_of(namespace: argparse.Namespace, values: Sequence[str]) -> list[dict[str, str]]:
    """The sides of one file as tables of `answers`, the reference first. Raises SpecError: --reference-side is none of them."""
    reference = namespace.reference_side or values[0]
    if reference not in values:
        allowed = f"one of {some(values, MAX_NAMED)}"
        raise refuse("--reference-side", shown(reference), allowed, did_you_mean(reference, values), source="the flags")
    return side_tables(sorted(values, key=lambda one: one != reference), answer_file(namespace.files[0], 0)["path"])


def side_tables(values: Sequence[str], path: str) -> list[dict[str, str]]:
    """The sides of one file as tables of `answers`."""
    found: list[dict[str, str]] = []
    for value in values:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip("-._")[: MAX_NAME_LENGTH - 4] or "side"
        taken = [one["name"] for one in found]
        name = next(each for number in range(1, len(values) + 1) if (each := plain if number == 1 else f"{plain}-{number}") not in taken)
        found.append({"name": name, "path": path, "side": value})
    return found


def score_experiment(namespace: argparse.Namespace, sides: Sequence[dict[str, str]] = ()) -> Experiment:
    """The experiment that the flags describe; `sides` are those of one file. Raises SpecError: every problem of the flags at once."""
    files = list(sides) or [answer_file(text, index) for index, text in enumerate(namespace.files)]
    data: dict[str, Any] = {
        "name": _name([file["name"] for file in files]),
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "gates": {"efficiency": "none"},
        "noise": {"sentinel_s": 0.0},  # nothing is timed
        "evaluation": {"answers": files},
    }
    texts, problems = of_verb.put_flags(data, SCORE, namespace)
    given = data["evaluation"].get("given", {}).get("fields", ())
    judged = (JUDGED,) if "judge" in data["evaluation"] else ()
    if (given or judged) and "--metric" not in {item.name for item in texts}:
        data["evaluation"]["metrics"] = []
    form = data["evaluation"].get("ratings", {}).get("form")
    if form in SCORES and "--metric" not in {item.name for item in texts}:
        data["evaluation"]["metrics"] = [SCORES[form]]
    if "quality" in data:
        data["quality"]["metric"] = next(iter((*judged, *(data["evaluation"].get("metrics") or ()), *given)), "exact_match")
    return of_verb.experiment_of(data, problems, lambda problem: of_verb.as_flag(problem, of_verb.flags_of(SCORE)))


def _name(files: Sequence[str]) -> str:
    """All names; where they are too long the first, and of the others what differs, or how many there are."""
    words = [file.split("-") for file in files]
    common = sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False)))
    others = ["-".join(several[common:] or several) for several in words[1:]]
    name = next((name for name in ("-vs-".join(files), "-vs-".join([*files[:1], *others])) if len(name) <= NAME_LENGTH), "")
    more = f"-vs-{len(files) - 1}-more"
    return name or f"{files[0][: NAME_LENGTH - len(more)]}{more}"


def score_words(experiment: Experiment, folder: Path) -> tuple[tuple[str, ...], ...]:
    """The files and the flags by which `assay score` scores the same answers again; nothing if its flags cannot say all of it.

    `folder`: where the files are; those of the working folder are written as they were given.
    """
    evaluation = experiment.evaluation
    if experiment.workload.runner != "answers" or evaluation is None:
        return ()
    here = folder.resolve() == Path.cwd()
    paths = [one.path if here else str(folder / one.path) for one in evaluation.answers]
    named = zip(evaluation.answers, paths, strict=True)
    files = tuple(path if answer_file(path, 0)["name"] == one.name else f"{one.name}={path}" for one, path in named)
    sides = [one.side for one in evaluation.answers] if evaluation.fields.side else []
    if evaluation.ratings is not None:  # the sides are in the file
        files = tuple(dict.fromkeys(paths))
    names = [one.name for one in evaluation.answers] if evaluation.ratings is None or sides else [answer_file(files[0], 0)["name"]]
    usual = (("--name", _name(names)), ("--metric", ""))
    flags = [flag for flag in of_verb.words_of(experiment, SCORE) if flag not in usual]
    words = (tuple(paths[:1]), ("--reference-side", sides[0]), *flags) if sides else (files, *flags)
    return words if _asks(words, sides) == _comparable(experiment, words[0]) else ()


def _asks(words: Sequence[Sequence[str]], sides: Sequence[str]) -> dict[str, Any] | None:
    """What the words of `assay score` ask of a file with these sides; None if they are refused, as for a file that is gone."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_score_flags(parser)
    namespace = parser.parse_args([word for each in words for word in each])
    try:
        return _comparable(score_experiment(namespace, sides_of(namespace, sides) if sides else ()), namespace.files)
    except SpecError:
        return None


def _comparable(experiment: Experiment, files: Sequence[str]) -> dict[str, Any]:
    """What is scored and how it is judged; the answers as words of a command."""
    data = experiment.model_dump(mode="json", include={"evaluation", "quality"})
    return {**data, "evaluation": {**data["evaluation"], "answers": list(files)}}
