"""How are requests sent to vLLM (`vllm serve`)?

In OpenAI's dialect, with answers of exactly the requested length: `ignore_eos` and `min_tokens` force it.  Usage comes in a separate final
chunk; reasoning in `reasoning` (0.12 and later) or `reasoning_content`.  Cached tokens are reported if the server runs with
--enable-prompt-tokens-details.

Options: `path`, `omit`, `max_tokens_key`, `echo_tokens`, `voice`, `audio_bytes_per_s`, `image_size`, `partial_images`, `body.KEY`, `json.KEY`.
Source: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.openai_dialect import ALL_TASKS, MEDIA_TASKS, Dialect, backend_of, exactly

BACKEND = backend_of("vllm", Dialect(ignore_eos=True, length=exactly), tasks=(*ALL_TASKS, *MEDIA_TASKS), tokenize="/tokenize")
