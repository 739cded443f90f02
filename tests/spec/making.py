"""Experiments for the tests of the spec: the smallest one, and any valid one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping

SMALLEST = """\
name = "small"

[workload]
script = "train.py"

[factor]
levels = [1, 2]
"""


def smallest(**sections: Any) -> dict[str, Any]:
    """The smallest valid experiment as nested mappings, with some sections replaced or added."""
    return {"name": "small", "workload": {"script": "train.py"}, "factor": {"levels": [1, 2]}, **sections}


def written(folder: Path, text: str, script: str = "train.py") -> Path:
    """An experiment's file with its script beside it."""
    (folder / script).write_text("", encoding="utf-8")
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _text(least: int = 1) -> st.SearchStrategy[str]:
    # TOML cannot hold surrogates, and no zero byte can be passed to a process.
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.text(letters, min_size=least, max_size=12)


def _above(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, exclude_min=True, allow_nan=False)


def _some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A section with any of these keys."""
    return st.fixed_dictionaries({}, optional=keys)


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    """Any valid experiment."""
    levels = draw(st.lists(st.integers(1, 100_000), min_size=1, max_size=6, unique=True))
    level = st.sampled_from(levels)
    price = st.fixed_dictionaries({"usd_per_worker_hour": st.floats(0, 1e6), "date": st.dates(), "source": _text()})
    prices = draw(st.none() | price)
    gates = _some(
        efficiency=_above(0, 1.5) | st.just("none"),
        deadline_s=_above(0, 1e12),
        required_workers=level,
        **({"budget_usd": _above(0, 1e9)} if prices else {}),
    )
    fault = _some(
        kind=_text(),
        levels=st.lists(level, max_size=3, unique=True),
        after_checkpoints=st.integers(0, 9),
        within_steps=st.integers(1, 10**9),
        signal=st.sampled_from(["KILL", "TERM", "ABRT", "SEGV"]),
    )
    names = st.text("ABC_xyz1", min_size=1, max_size=5)
    workload = st.fixed_dictionaries(
        {"script": _text()},
        optional={
            "arguments": st.lists(_text(0), max_size=3),
            "work": _text(),
            "runner": _text(),
            "environment": st.dictionaries(names, _text(0), max_size=2),
        },
    )
    data = {
        "name": draw(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,20}\Z")),
        "workload": draw(workload),
        "factor": {"levels": levels},
        "scaling": draw(_some(mode=st.sampled_from(["strong", "weak"]), base=level)),
        "launches": draw(_some(per_configuration=st.integers(1, 6), seed=st.integers(0, 2**63 - 1), confidence=st.floats(0.51, 0.999))),
        "quality": draw(st.none() | _some(metric=_text(), margin=_above(0, 1e9))),
        "gates": draw(gates),
        "prices": prices,
        "faults": draw(st.lists(fault, max_size=2)),
        "limits": draw(_some(launch_timeout_s=_above(0, 1e8), log_mib=_above(0, 100))),
    }
    return from_mapping({key: value for key, value in data.items() if value is not None})
