"""What does a launch say about its requests?  The folds over the table `requests` that the serving metrics share.

A request counts if it was due in the measured window of its launch: after the warm-up, before the last arrival; cold
requests never do (METRICS.md, "Serving").  Times start when the request was due, whatever the client did then.
"""

from __future__ import annotations
