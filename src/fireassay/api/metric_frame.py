"""How do a record's metrics become one tidy frame, and which value does a selection name?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fireassay.errors import SpecError, refuse
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.metrics.metric import ALL
from fireassay.spec.explain import closest

if TYPE_CHECKING:
    import polars as pl

    from fireassay.metrics.metric import Metric, Results
    from fireassay.spec.plan import Configuration

COLUMNS: Final = {
    "metric": "String",
    "configuration": "String",
    "value": "Float64",
    "low": "Float64",
    "high": "Float64",
    "unit": "String",
    "confidence": "Float64",
    "n_launches": "Int64",
    "reason": "String",
}


def frame(results: Results, metrics: Mapping[str, Metric]) -> pl.DataFrame:
    """One row per metric and configuration, in the columns of `COLUMNS`; numbers are null where there is a reason."""
    schema = {name: getattr(pl, kind) for name, kind in COLUMNS.items()}
    return pl.DataFrame(list(_rows(results, metrics)), schema=schema, orient="row")


def _rows(results: Results, metrics: Mapping[str, Metric]) -> Iterator[tuple[Any, ...]]:
    for name, values in results.items():
        for configuration, value in values.items():
            yield (name, configuration, *(_numbers(value) if isinstance(value, Estimate) else _reason(value, metrics[name].unit)))


def _numbers(value: Estimate) -> tuple[Any, ...]:
    return (value.value, value.low, value.high, value.unit, value.confidence, value.n_launches, None)


def _reason(value: Absent, unit: str) -> tuple[Any, ...]:
    return (None, None, None, unit, None, None, f"{value.reason}: {value.detail}")


def pick(results: Results, name: str, configurations: Sequence[Configuration], selection: Mapping[str, object]) -> Value:
    """The value of a metric at the only configuration that the selection fits; without one, that of the whole record.

    Raises:
        SpecError: unknown metric, or no or several configurations fit.
    """
    values = results.get(name)
    if values is None:
        raise unknown("metric", name, results)
    if not selection and (len(values) == 1 or ALL in values):
        return values.get(ALL) or next(iter(values.values()))
    fitting = [item.name for item in configurations if _fits(item, selection)]
    if len(fitting) == 1:
        return values.get(fitting[0]) or Absent(reason="not_applicable", detail=f"{name} has no value at {fitting[0]}")
    names = [item.name for item in configurations]
    raise refuse(
        f"metric {name!r}",
        ", ".join(f"{key}={value!r}" for key, value in selection.items()) or "no configuration",
        f"a selection of one of {', '.join(names)}",
        f'For example: metric("{name}", {_example(names[-1])}).',
        source="the selection",
    )


def _example(name: str) -> str:
    return name if name.startswith("workers=") else f'configuration="{name}"'


def _fits(configuration: Configuration, selection: Mapping[str, object]) -> bool:
    """True if a configuration has all selected values; `rate`, `concurrency` and `engine` as its name spells them."""
    parts = dict(part.split("=", 1) for part in configuration.name.split(" ") if "=" in part)
    known = {**parts, "configuration": configuration.name, "workers": configuration.workers, "load": configuration.load}
    return all(name in known and _alike(known[name], value) for name, value in selection.items())


def _alike(have: object, selected: object) -> bool:
    if isinstance(selected, int | float) and not isinstance(selected, bool):
        try:
            return float(str(have)) == float(selected)
        except ValueError:
            return False
    return str(have) == str(selected)


def unknown(what: str, name: str, known: Mapping[str, Any] | Sequence[str]) -> SpecError:
    """There is no such metric, table or chart; names the closest one."""
    match = closest(name, known)
    fix = f"Did you mean {match!r}?" if match else ""
    allowed = f"one of {', '.join(known)}" if len(known) <= 20 else f"one of its {len(known)} names"
    return refuse(what, repr(name), allowed, fix, source="the record")
