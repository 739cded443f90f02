"""Is a specification one that Vega-Lite knows?  Altair checks it against the schema."""

from __future__ import annotations

from typing import Any

import altair

from assay.reports import vega


def checked(chart: vega.Chart) -> dict[str, Any]:
    """The whole specification, valid for the schema of the version that it names."""
    specification = chart.whole({})  # the look of everything has no background, which works and is not in the schema
    assert specification["$schema"] == altair.SCHEMA_URL
    altair.Chart.from_dict(specification)  # raises where the schema is not kept
    return specification
