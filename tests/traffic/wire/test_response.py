"""Where is a request sent to?"""

from __future__ import annotations

import pytest

from fireassay.traffic.parts import Wire
from fireassay.traffic.wire.response import Payloads, address_of


@pytest.mark.parametrize(
    ("server", "path", "line"),
    [
        ("http://h:1", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h:1/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h:1/openai/v1/", "/v1/models", "/openai/v1/models"),
        ("http://h:1/v1", "/rerank", "/v1/rerank"),
        ("http://h:1/api", "/v1/models", "/api/v1/models"),
        ("http://h:1/notv1", "/v1/models", "/notv1/v1/models"),
    ],
)
def test_a_server_written_with_v1_is_the_same_server(server: str, path: str, line: str) -> None:
    """OPENAI_BASE_URL ends with /v1; the paths of the dialect begin with it."""
    payload = Payloads(address_of(server)).payload(Wire(path=path, body=b""))
    assert payload.split()[1].decode() == line
