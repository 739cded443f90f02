"""Is a specification one that Vega-Lite knows?  Altair brings the schema; building its own objects of a picture would take seconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair
from jsonschema import Draft7Validator

from fireassay.reports.charts import vega


def checked(chart: vega.Chart) -> dict[str, Any]:
    """The whole specification, valid for the schema of its major version."""
    specification = chart.whole({})  # the look of everything has no background, which works and is not in the schema
    ours, altairs = (url.rpartition("/v")[2].split(".")[0] for url in (specification["$schema"], altair.SCHEMA_URL))
    assert ours == altairs, "another major version of Vega-Lite: the pictures must be looked at"
    validator().validate(specification)
    return specification


@cache
def validator() -> Draft7Validator:
    """Of the whole schema, which is of draft 7."""
    return Draft7Validator(altair.VegaLiteSchema._rootschema)
