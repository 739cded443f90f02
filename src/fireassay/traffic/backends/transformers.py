"""How are requests sent to `transformers serve`?

In OpenAI's dialect, without the keys it rejects.  It answers 4xx to `stream_options` and `logprobs`, reports usage unasked, ends its stream
without [DONE], and names the model PATH@main.  Its first token shares the role's chunk or comes later; 64 tokens come in fewer text
chunks.  `generation_config`, the JSON of a GenerationConfig, forces an answer of exactly the requested length: it forbids the end of
sequence before that, and with continuous batching ignores it.  `stop` is not sent: continuous batching knows no stop strings (5.24.0).

Options: `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Verified against the source and server of transformers 5.23.0 (cli/serving), with and without continuous batching.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.bodies import member
from fireassay.traffic.backends.support.openai_dialect import TEXT_TASKS, Dialect, backend_of, up_to
from fireassay.traffic.parts import Ask


def _length(ask: Ask, key: str) -> bytes:
    limit = up_to(ask, key)
    if not ask.ignore_eos or ask.max_tokens is None:
        return limit
    return limit + member("generation_config", f'{{"max_new_tokens":{ask.max_tokens},"min_new_tokens":{ask.max_tokens}}}')


BACKEND = backend_of(
    "transformers", Dialect(usage=False, logprobs=False, stops=False, length=_length), tasks=TEXT_TASKS, own_keys=("generation_config",)
)
