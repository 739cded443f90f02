"""How are requests sent to TensorRT-LLM (`trtllm-serve`)?

In OpenAI's dialect, extended by `ignore_eos` and `min_tokens`.

Options: `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Source: https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.openai_dialect import OPTIONS, OWN_KEYS, TEXT_TASKS, Dialect, exactly, read, wire_of
from fireassay.traffic.backends.support.options import with_headers
from fireassay.traffic.parts import Backend

BACKEND = Backend(
    name="trtllm",
    tasks=TEXT_TASKS,
    wire=wire_of(Dialect(ignore_eos=True, length=exactly)),
    read=read,
    prepare=with_headers,
    options=OPTIONS,
    own_keys=OWN_KEYS,
)
