"""How are requests sent to TensorRT-LLM (`trtllm-serve`)?

In OpenAI's dialect, extended by `ignore_eos` and `min_tokens`.

Options: `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Source: https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.openai_dialect import TEXT_TASKS, Dialect, backend_of, exactly

BACKEND = backend_of("trtllm", Dialect(ignore_eos=True, length=exactly), tasks=TEXT_TASKS)
