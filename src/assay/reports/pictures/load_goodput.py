"""How much of what was asked for was good?  Goodput over the load, beside the line on which all of it would be."""

from __future__ import annotations

import altair as alt

from assay.reports.pictures.base import Drawing, Key, Missing, absence, colour, common_scale, data, in_words
from assay.reports.pictures.loads import estimate, line_keys, lines, load_axis, over_loads, scenarios, vertical
from assay.reports.view import View

TITLE = "Goodput against load"


def draw(view: View) -> list[Drawing | Missing]:
    """One picture per scenario; none where no objectives were given."""
    row = view.metric("goodput")
    if view.serving is None or row is None:
        return []
    found: list[Drawing | Missing] = []
    for scenario in scenarios(view):
        title = f"{TITLE}: {scenario}" if len(scenarios(view)) > 1 else TITLE
        own = lines(view, lambda column: column.engine, lambda column, only=scenario: column.scenario == only)  # type: ignore[misc]
        values = [value for line in own for column in line.columns if (value := estimate(row, column)) is not None]
        if not values:
            found.append(Missing(title=title, reason=absence(view, row, "Goodput")))
            continue
        scale = common_scale(row)
        chart = over_loads(view, row, own, scale)
        keys = line_keys(view, own)
        if view.load_word == "rate":
            top = (
                max(*(value.value for value in values), *(column.load or 0.0 for column in view.columns)) * scale.factor
            )
            chart = over_loads(view, row, own, scale, ceiling=top * 1.08)
            loads = sorted({column.load or 0.0 for column in view.columns})
            ideal = alt.Chart(data([{"x": load, "value": load * scale.factor} for load in loads]))
            y = vertical(max(top, 1e-9) * 1.08)
            chart = alt.layer(
                ideal.mark_line(strokeDash=[6, 3], strokeWidth=1.5, color=colour("muted")).encode(
                    x=load_axis(view), y=y("value")
                ),
                *chart.layer,
            )
            from assay.reports.pictures.base import above, sized

            chart = sized(chart.properties(title=above(f"{row.title}, {scale.label}")), 230)
            keys.append(Key(mark="dash", role="muted", text="every request due was good"))
        found.append(Drawing(
            title=title, chart=chart, key=tuple(keys), description=in_words(view, row),
            caption="A request is good if it met every objective; one that failed met none.",
        ))  # fmt: skip
    return found
