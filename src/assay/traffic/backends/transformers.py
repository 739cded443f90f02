"""How is `transformers serve` asked?  OpenAI's dialect, and what it refuses is left out.

It answers 4xx to `stream_options` and `logprobs`, tells the usage without being asked, ends its stream without [DONE], and
names the model PATH@main.  Its first token shares the role's chunk or comes later; 64 tokens come in fewer chunks of text.
An answer of exactly the length asked for is had by `generation_config`, the JSON of a GenerationConfig: the end of sequence
is forbidden before it, and with continuous batching it is passed over.

Options: `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Read and tried in transformers 5.23.0 (cli/serving), with and without continuous batching.
"""

from __future__ import annotations

from assay.traffic.backends.support.bodies import member
from assay.traffic.backends.support.openai_dialect import OPTIONS, OWN_KEYS, TEXT_TASKS, Dialect, read, up_to, wire_of
from assay.traffic.backends.support.options import with_headers
from assay.traffic.parts import Ask, Backend


def _length(ask: Ask, key: str) -> bytes:
    limit = up_to(ask, key)
    if not ask.ignore_eos or ask.max_tokens is None:
        return limit
    return limit + member("generation_config", f'{{"max_new_tokens":{ask.max_tokens},"min_new_tokens":{ask.max_tokens}}}')


BACKEND = Backend(
    name="transformers",
    tasks=TEXT_TASKS,
    wire=wire_of(Dialect(usage=False, logprobs=False, length=_length)),
    read=read,
    prepare=with_headers,
    options=OPTIONS,
    own_keys=(*OWN_KEYS, "generation_config"),
)
