"""How does a metric's value show itself to a program and in a notebook?"""

from __future__ import annotations

from typing import Any

from fireassay.estimates import estimate
from fireassay.estimates.estimate import Value
from fireassay.estimates.format import show
from fireassay.printable import printable
from fireassay.reports import fragments as html


class Estimate(estimate.Estimate):
    """A value with its interval: `value`, `low`, `high`, `unit`, `confidence`, `n_launches`, `n_trials`, `method`, `launch_values`.

    >>> import fireassay
    >>> speedup = fireassay.open("digits").metric("speedup", workers=2)
    >>> speedup
    Estimate(1.70 [1.00, 2.88] (one far out), unit='ratio', n_launches=3)
    >>> print(speedup.method)
    Student t on the log ratio of 3 blocks, step time, relative to workers=1
    """

    def __str__(self) -> str:
        return _written(self)

    def __repr__(self) -> str:
        return f"Estimate({self}, unit={self.unit!r}, n_launches={self.n_launches})"

    def _repr_html_(self) -> str:
        return f'<span title="{html.text(self.method)}">{html.text(self)}</span>'


class Absent(estimate.Absent):
    """A value that is not there: `reason` in one word, `detail` in one sentence. Never 0.

    >>> import fireassay
    >>> fireassay.open("digits").metric("mfu", workers=2)
    Absent(not measured (...))
    """

    def __str__(self) -> str:
        return _written(self)

    def __repr__(self) -> str:
        return f"Absent({self})"

    def _repr_html_(self) -> str:
        return f"<span>{html.text(self)}</span>"


def of(value: Value) -> Estimate | Absent:
    """The value of a metric for people."""
    fields: dict[str, Any] = vars(value)
    return Estimate(**fields) if isinstance(value, estimate.Estimate) else Absent(**fields)


def _written(value: Value) -> str:
    """As in reports: "12.3 ms [12.1, 12.5]", or the reason."""
    return printable(show(value).full)
