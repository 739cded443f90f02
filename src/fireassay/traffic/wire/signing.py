"""How is a request signed at send time?

By the function that a backend's `prepare` returns: it adds credentials or a signature.
"""

from __future__ import annotations

from collections.abc import Callable

from fireassay.traffic.parts import Wire

Sign = Callable[[Wire, str], Wire]  # (request, the replica's URL) -> the request as sent
