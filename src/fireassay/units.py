"""In which units does assay measure, and what are their conversion factors?

Units are strings in records, estimates and JSON.  Only `fireassay.estimates.format` formats them for people.
"""

from __future__ import annotations

from typing import Final

SECONDS: Final = "s"
PER_SECOND: Final = "1/s"
RATIO: Final = "ratio"  # 1.0 means equal; a speedup of 1.9 is 1.9
FRACTION: Final = "fraction"  # 0..1; shown as a percentage where that reads better
JOULES: Final = "J"
JOULES_PER_KWH: Final = 3.6e6
BYTES: Final = "B"
BYTES_PER_SECOND: Final = "B/s"
SECONDS_PER_BYTE: Final = "s/B"
USD: Final = "USD"
USD_PER_ITEM: Final = "USD/item"
USD_PER_STEP: Final = "USD/step"
ITEMS_PER_USD: Final = "items/USD"
JOULES_PER_ITEM: Final = "J/item"
JOULES_PER_STEP: Final = "J/step"
TOKENS_PER_JOULE: Final = "tokens/J"
GRAMS: Final = "g"  # of CO2 equivalent
GRAMS_PER_STEP: Final = "g/step"
GRAMS_PER_ITEM: Final = "g/item"
GRAMS_PER_TOKEN: Final = "g/token"
USD_PER_REQUEST: Final = "USD/request"
USD_PER_TOKEN: Final = "USD/token"
TOKENS_PER_USD: Final = "tokens/USD"
USD_PER_IMAGE: Final = "USD/image"
JOULES_PER_IMAGE: Final = "J/image"
JOULES_PER_TOKEN: Final = "J/token"
JOULES_PER_REQUEST: Final = "J/request"
REQUESTS: Final = "requests"
TOKENS: Final = "tokens"
WORKERS: Final = "workers"
STEPS: Final = "steps"
COUNT: Final = "count"
FLOP: Final = "FLOP"  # floating-point operations; a multiply-add counts as 2
FLOP_PER_S: Final = "FLOP/s"
SCORE: Final = "score"  # a quality score on the metric's own scale

NS_PER_S: Final = 1_000_000_000
SECONDS_PER_HOUR: Final = 3600
MIB: Final = 1024 * 1024
