"""How are requests sent to a server with OpenAI's API: chat, completions, embeddings, rerank, chat with images, images, speech?

The plain dialect, without an engine's extensions: for OpenAI itself, OpenRouter, Together, LMDeploy, Ollama and others.
The answer's length is only limited, never forced: there is no `ignore_eos`.

Options: `path`, `omit`, `max_tokens_key`, `echo_tokens`, `voice`, `audio_bytes_per_s`, `image_size`, `partial_images`, `body.KEY`,
`json.KEY`.  OpenAI's reasoning models require max_tokens_key = "max_completion_tokens" and omit = "temperature".
Source: https://platform.openai.com/docs/api-reference; rerank: https://docs.cohere.com/reference/rerank.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.openai_dialect import ALL_TASKS, MEDIA_TASKS, Dialect, backend_of

BACKEND = backend_of("openai", Dialect(), tasks=(*ALL_TASKS, *MEDIA_TASKS))
