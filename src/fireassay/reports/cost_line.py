"""What does the first screen say of the cost: its parts, the joules and the CO2?"""

from __future__ import annotations

from fireassay.estimates.estimate import Value
from fireassay.reports.answering import shortened
from fireassay.reports.page import Line
from fireassay.reports.view import View
from fireassay.verdict.cost_words import cost_of_a_run, footprint, no_carbon, parts_of_cost

THREE_LINES = 240


def cost_line(view: View, key: str, *, of: str = "run", shown: bool = False) -> Line | None:
    """The cost at a configuration; None without prices and without joules.

    `of`: what is paid for. `shown`: the total stands elsewhere on the screen, so that a line is for what it does not say.
    """
    if "cost" not in view.dimensions:
        return None

    def find(metric: str) -> Value | None:
        return view.value(metric, key)

    used = "; ".join(words for words in (footprint(find), no_carbon(find)) if words)
    if not used and ((shown and not parts_of_cost(find)) or not cost_of_a_run(find, of)):
        return None
    words = [word for word in (cost_of_a_run(find, of), used) if word]
    return Line(label="cost", text=shortened("; ".join(words), THREE_LINES), target="metrics-cost")
