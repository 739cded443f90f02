"""What is said of a tuning?  Every round with its arms, the last round's comparison, and the sentence that decides.

As text for a terminal, as JSON (`assay-tune-1`) for other programs, and as one self-contained page.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from assay.estimates.format import count
from assay.printable import printable
from assay.reports.comparisons import json as comparison_json
from assay.reports.comparisons import terminal
from assay.reports.comparisons.view import ComparisonView, build
from assay.reports.json import encode, finite
from assay.spec.sections.tune import TODAY, shown
from assay.verdict.tuning import gain_text

if TYPE_CHECKING:
    import jinja2

    from assay.verdict.tuning import Round, Standing, Tuned

SCHEMA: Final = "assay-tune-1"


def text(found: Tuned, *, width: int, colour: bool) -> str:
    """All of it for a terminal; the sentence last, where it is seen."""
    lines = [line for place, one in enumerate(found.rounds, 1) for line in _round(place, one)]
    if found.left_out:
        lines += [left_out(found), ""]
    if (view := _view(found)) is not None:
        lines += ["Last round, which alone decides", "", terminal.render(view, width=width, colour=colour)]
    return "\n".join([*lines, printable(sentence(found))]) + "\n"


def document(found: Tuned) -> dict[str, Any]:
    """The result for other programs. An end of an interval that the data do not bound is null."""
    view = _view(found)
    return {
        "schema": SCHEMA,
        "sentence": found.sentence,
        "adopted": None if found.adopted is None else dict(found.adopted),
        "left_out": found.left_out,
        "rounds": [
            {
                "blocks": one.blocks,
                "metric": one.metric,
                "arms": [
                    {
                        "label": s.label,
                        "settings": dict(s.settings),
                        "gain": finite(s.gain),
                        "low": finite(s.low),
                        "high": finite(s.high),
                        "out": s.out,
                        "goes_on": s.goes_on,
                        "record": s.record,
                    }
                    for s in one.standings
                ],
            }
            for one in found.rounds
        ],
        "final": None if view is None else comparison_json.document(view),
        "final_records": list(found.records),
    }


def json(found: Tuned) -> str:
    """The document as strict JSON."""
    return encode(document(found))


def page(found: Tuned, name: str) -> str:
    """One page: what to use, the last round, and how it came to it."""
    from assay.reports.charts import svg
    from assay.reports.comparisons import forest
    from assay.reports.comparisons.html import SIGNS, STATUS

    view = _view(found)
    picture = None if view is None else svg.picture("forest", forest.draw(view))
    rounds = [
        {"head": _head(place, one), "arms": [(s.label, standing(s), s.goes_on, s.record) for s in one.standings]}
        for place, one in enumerate(found.rounds, 1)
    ]
    settings = {name: shown(value) for name, value in (found.adopted or {}).items()}
    return _template().render(
        name=name,
        found=found,
        sentence=sentence(found),
        view=view,
        picture=picture,
        rounds=rounds,
        settings=settings,
        left_out=left_out(found),
        status=STATUS,
        signs=SIGNS,
    )


def sentence(found: Tuned) -> str:
    """As it may be quoted."""
    bare = found.sentence.rstrip(".")
    return f"{bare[0].upper()}{bare[1:]}."


def left_out(found: Tuned) -> str:
    """What was not tried out for want of room; "" if everything was."""
    return f"{count(found.left_out, 'combinations')} not tried out (tune.at_most)." if found.left_out else ""


def standing(one: Standing) -> str:
    """Where an arm stands: "1.2 [1.1, 1.3] times as good, goes on"."""
    if one.label == TODAY:
        return "1"
    if one.out:
        return f"out: {one.out}"
    gain = "? times as good" if one.gain is None else gain_text(one.gain, one.low, one.high)
    return f"{gain}, {'goes on' if one.goes_on else 'goes out'}"


def _view(found: Tuned) -> ComparisonView | None:
    if found.final is None:
        return None
    base = found.sides[0]
    return build(found.final, base.judgement.metrics, base.measured.experiment.workload.work)


def _head(place: int, one: Round) -> str:
    metric = f", by {one.metric}" if one.metric else ""
    return f"Round {place}: {count(one.blocks, 'launches')} of each{metric}, against today's settings"


def _round(place: int, one: Round) -> list[str]:
    width = max(len(arm.label) for arm in one.standings)
    return [_head(place, one), "", *(printable(f"  {arm.label.ljust(width)}  {standing(arm)}") for arm in one.standings), ""]


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assay.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("tuning.html")
