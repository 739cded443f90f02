"""How is a request to OpenAI's Responses API built?

From a chat's messages; the backend converts them to its input.
"""

from __future__ import annotations

from fireassay.traffic.parts import Task
from fireassay.traffic.tasks.support.text_answers import chat_ask

TASK = Task(name="responses", streams=True, ask=chat_ask)
