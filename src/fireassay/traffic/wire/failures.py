"""Why did a connection fail, worded so that equal failures compare equal?"""

from __future__ import annotations

import os


def closed_because(error: int, heard: bool) -> str:
    """Why an exchange lost its connection, from an errno (-1: unknown; 0: the peer closed it)."""
    if error:
        return f"reset: {os.strerror(error) if error > 0 else 'the connection was lost'}"
    if heard:
        return "the server closed the connection in the middle of its answer"
    return "reset: the server closed the connection without an answer"


def plain_reason(error: OSError) -> str:
    """A reason without addresses, so that equal failures are counted together."""
    if reason := getattr(error, "reason", None):  # TLS
        detail = getattr(error, "verify_message", "")
        return f"TLS: {str(reason).replace('_', ' ').lower()}{': ' if detail else ''}{detail}"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return (error.strerror or str(error))[:200]
