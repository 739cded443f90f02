"""How are requests sent to Together AI?

In OpenAI's dialect, images and speech included.  URL: https://api.together.xyz.  The key comes from TOGETHER_API_KEY unless
`api_key_env` names another variable.

Options: `path`, `omit`, `max_tokens_key`, `voice`, `audio_bytes_per_s`, `image_size`, `partial_images`, `body.KEY`, `json.KEY`.
Source: https://docs.together.ai/docs/openai-api-compatibility.
"""

from __future__ import annotations

from fireassay.traffic.backends.support.openai_dialect import MEDIA_TASKS, TEXT_TASKS, Dialect, backend_of

BACKEND = backend_of("together", Dialect(), tasks=(*TEXT_TASKS, "embeddings", "rerank", *MEDIA_TASKS))
