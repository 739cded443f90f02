"""A low utilisation is told only where its whole interval is low."""

from __future__ import annotations

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.verdict.audits.bottlenecks.bottleneck_utilisation import AUDIT
from tests.builders import estimate
from tests.handmade import Handmade

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_low_utilisation_is_told_only_where_its_whole_interval_is_low() -> None:
    made = measured().measured()
    (found,) = AUDIT.examine(made, {"mfu": of(0.1, 0.02, "fraction")})
    assert "10.0 times as fast [8.3, 12.5]" in found.evidence  # 1 / 0.12 and 1 / 0.08
    assert tuple(AUDIT.examine(made, {"mfu": of(0.19, 0.02, "fraction")})) == ()
    assert tuple(AUDIT.examine(made, {"mfu": {ONE: Absent(reason="not_measured", detail="")}})) == ()
