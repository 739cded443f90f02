"""How do the flags of `assay score` become an experiment?

    assay score answers.jsonl --metric rouge_l,bleu,f1 --reference gold

Every flag sets one key; all errors are reported at once, under the flags' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fireassay.spec.flags import of_verb
from fireassay.spec.sections.evaluation import answer_file

if TYPE_CHECKING:
    import argparse

    from fireassay.spec.experiment import Experiment

VERB: Final = "score"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; values stay text until `experiment_from`."""
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="JSONL or CSV with one answer per line; the first is the reference side"
    )
    of_verb.declare(parser.add_argument_group("keys of the experiment"), of_verb.flags_of(VERB))


def experiment_from(namespace: argparse.Namespace) -> Experiment:
    """The experiment that the flags describe.

    Raises:
        SpecError: every problem of the flags at once.
    """
    files = [answer_file(text, index) for index, text in enumerate(namespace.files)]
    data: dict[str, Any] = {
        "name": files[0]["name"],
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "gates": {"efficiency": "none"},
        "evaluation": {"answers": files},
    }
    _, problems = of_verb.put_flags(data, VERB, namespace)
    if "quality" in data:
        data["quality"]["metric"] = next(iter(data["evaluation"].get("metrics") or ("exact_match",)))
    return of_verb.experiment_of(data, problems, lambda problem: of_verb.as_flag(problem, of_verb.flags_of(VERB)))
