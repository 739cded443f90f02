"""Is a specification one that Vega-Lite knows?  Altair checks it against the schema."""

from __future__ import annotations

from typing import Any

import altair

from assay.reports import vega


def checked(chart: vega.Chart) -> dict[str, Any]:
    """The whole specification, valid for the schema of its major version."""
    specification = chart.whole({})  # the look of everything has no background, which works and is not in the schema
    ours, altairs = (url.rpartition("/v")[2].split(".")[0] for url in (specification["$schema"], altair.SCHEMA_URL))
    assert ours == altairs, "another major version of Vega-Lite: the pictures must be looked at"
    altair.Chart.from_dict(specification)  # raises where the schema is not kept
    return specification
