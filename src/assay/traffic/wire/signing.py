"""What is put on a request at the moment of sending?  Whatever a backend's `prepare` gives: credentials, signatures."""

from __future__ import annotations

from collections.abc import Callable

from assay.traffic.parts import Wire

Sign = Callable[[Wire, str], Wire]  # (request, the replica's URL) -> the request as it is sent
