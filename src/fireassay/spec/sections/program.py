"""How does a program report the result of one run?

The section [program], for workload.runner = "program": a program of any language that is started once per launch and spreads its work over
workers itself.  It reports its work in files, since nothing in it is hooked.  A path is relative to the working folder; {out} in a path, an
argument or a variable is a new folder for each launch, so that no launch finds the files of another.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Model, Words, flag, listed

MAX_COUNT: Final = 1e18  # items or bytes of a run: quotients stay finite and above 0
RANKING: Final = "ranking"  # in a record: the metric of rows that hold one
RESULT: Final = "result"  # and the fingerprint of a result
RANKED: Final = re.compile(r"(recall|ndcg|mrr)_at_([1-9][0-9]{0,5})|(mrr)")  # scores of a ranking


class Program(Model):
    """Files in which the program leaves its result and what is known of it."""

    result: Annotated[
        Words,
        BeforeValidator(listed),
        flag("--result", "FILE", "program: its result, which must be that of one worker; files, folders or out/part-*", many=True, run=171),
    ] = Field(
        (),
        description="Files, folders or patterns (out/part-*) with the result. Each launch keeps one digest of their contents, in the order of "
        "names, however many files the workers wrote; every worker count must give the base's.",
    )
    any_order: Annotated[bool, flag("--any-order", "", "program: the order of the result's lines says nothing", run=172)] = Field(
        False, description="Whether the order of lines, and which file holds them, is no part of the result, as after a shuffle."
    )
    items: Annotated[float | None, flag("--items", "N", "program: units of work of one run, for items/s and cost of an item", run=173)] = (
        Field(None, gt=0.0, le=MAX_COUNT, description="Units of work of one run, where every worker count does the same work.")
    )
    numbers: Annotated[str, flag("--numbers", "FILE", "program: JSON it writes with items and bytes", run=174)] = Field(
        "",
        description='A JSON object that the program writes: "items", its units of useful work, and "bytes", what it moved between workers.',
    )
    scores: Annotated[str, flag("--scores", "FILE", "program: JSON lines it writes, with id and score", run=175)] = Field(
        "",
        description="JSON lines that the program writes, one for every held-out item: id, score and, for items that may be lost together, cluster. "
        "They are scores of quality.metric.",
    )
    rankings: Annotated[str, flag("--rankings", "FILE", "program: JSON lines it writes, with query and ids, best first", run=176)] = Field(
        "",
        description="JSON lines that a search writes, one per query: query, ids (best first) and, if known, relevant: ids, or ids with grades. "
        "For the scores recall_at_K, ndcg_at_K, mrr_at_K and mrr.",
    )
    relevant: Annotated[str, flag("--relevant", "FILE", "rankings: what is relevant, in lines as above (the base's ranking)", run=177)] = (
        Field(
            "",
            description="JSON lines with query and relevant (ids, or ids with grades), or rankings of an exact search. Default: what --rankings says "
            "is relevant; if it says nothing, the ranking of the base in the same round.",
        )
    )
