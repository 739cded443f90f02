"""Specifications as plain data: what is made is what Vega-Lite's documentation says, and the schema refuses what is not."""

from __future__ import annotations

import pytest
from jsonschema.exceptions import ValidationError

from fireassay.reports.charts import vega
from tests.reports.schema import checked

ROWS = [{"t": 0, "ms": 1.5}, {"t": 1, "ms": 2.5}]


def test_a_chart_is_the_data_that_the_documentation_shows() -> None:
    made = vega.chart(ROWS).transform_filter("datum.t > 0").mark("line", strokeWidth=2)
    shown = made.encode(x=vega.x("t:Q", axis=vega.axis(title=None)), x2="end:Q", y="ms:Q")
    assert shown.spec == {
        "data": {"values": ROWS},
        "transform": [{"filter": "datum.t > 0"}],
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": {"field": "t", "type": "quantitative", "axis": {"title": None}},
            "x2": {"field": "end"},
            "y": {"field": "ms", "type": "quantitative"},
        },
    }


def test_a_chart_that_is_built_on_stays_as_it_was() -> None:
    base = vega.chart(ROWS)
    low = base.transform_calculate(low="datum.ms - 1", high="datum.ms + 1").mark("rule").encode(y="low:Q", y2="high:Q")
    base.mark("point").encode(y="ms:Q").properties(width=10)
    assert base.spec == {"data": {"values": ROWS}}
    assert [step["as"] for step in low.spec["transform"]] == ["low", "high"]


@pytest.mark.parametrize(("together", "name"), [(vega.layer, "layer"), (vega.vconcat, "vconcat"), (vega.concat, "concat")])
def test_charts_are_put_together(together: object, name: str) -> None:
    one, other = vega.chart(ROWS).mark("bar").encode(x="t:O"), vega.chart(ROWS).mark("tick").encode(y="ms:Q")
    whole = together(one, other, title=vega.title("both", anchor="start"))  # type: ignore[operator]
    assert checked(whole)[name] == [one.spec, other.spec]


def test_the_schema_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValidationError):
        checked(vega.chart(ROWS).mark("squiggle").encode(x="t:Q"))


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        vega.x("t:Z")
