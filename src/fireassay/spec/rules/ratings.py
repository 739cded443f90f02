"""Which keys of [evaluation.ratings] contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem
from fireassay.spec.explain import shown
from fireassay.spec.rules.partial import repeated, right
from fireassay.spec.sections.ratings import SCORES, Ratings

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.sections.evaluation import Evaluation

WHERE: Final = "evaluation.ratings"


def _ratings(experiment: Experiment) -> Iterator[Problem]:
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.ratings is None:
        return
    ratings = evaluation.ratings
    if experiment.workload.runner != "answers":
        yield Problem(f"{WHERE}.form", shown(ratings.form), "ratings only of a file that exists", "Use: assay score FILE --ratings long")
    yield from _file(evaluation)
    yield from _scale(ratings)
    for name in repeated(ratings.sides):
        yield Problem(f"{WHERE}.sides", f"{name} twice", "each side once")
    if ratings.raters and ratings.form != "wide":
        yield Problem(
            f"{WHERE}.raters", shown(list(ratings.raters)), f"no columns of raters with form = {shown(ratings.form)}", "Remove them."
        )
    if ratings.automatic and ratings.form == "pairs":
        yield Problem(
            f"{WHERE}.automatic", shown(list(ratings.automatic)), "none of pairs: a row has two sides", "Give ratings as rows of one side."
        )


def _file(evaluation: Evaluation) -> Iterator[Problem]:
    paths = {answers.path for _, answers in right(evaluation.answers)}
    if len(paths) > 1:
        yield Problem("evaluation.answers", f"{len(paths)} files", "one file of ratings", "Put all ratings into one file.")
    assert evaluation.ratings is not None
    wanted = SCORES.get(evaluation.ratings.form, "")
    if wanted and evaluation.metrics and tuple(evaluation.metrics) != (wanted,):
        found = shown(list(evaluation.metrics))
        yield Problem("evaluation.metrics", found, f"{wanted}, the score of ratings in this form", "Leave --metric out.")
    if evaluation.given is not None or evaluation.best_of is not None:
        fix = "A score beside the ratings of each side: --against NAME."
        yield Problem("evaluation.ratings", "a table beside evaluation.given or evaluation.best_of", "ratings alone", fix)
    if evaluation.fields.image:
        fix = (
            "Remove it. To see ratings beside images, score the images with the rating as a score field: --image NAME --score-field rating"
        )
        yield Problem("evaluation.fields.image", shown(evaluation.fields.image), "none with ratings: the answers are what people said", fix)
    if evaluation.majority:
        yield Problem("evaluation.majority", "true", "false: a rating is no answer to vote for", "Remove it.")


def _scale(ratings: Ratings) -> Iterator[Problem]:
    if len(ratings.scale) == 2 and not ratings.scale[0] < ratings.scale[1]:
        yield Problem(f"{WHERE}.scale", shown(list(ratings.scale)), "two different numbers, the smaller one first", "As in scale = [1, 5].")


RATINGS_RULES = (_ratings,)
