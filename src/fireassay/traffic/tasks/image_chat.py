"""How is a request for text about images built?

As a chat whose last message holds the images as data URLs, before the text.
"""

from __future__ import annotations

from fireassay.traffic.parts import Task
from fireassay.traffic.tasks.support.text_answers import chat_ask

TASK = Task(name="image_chat", streams=True, ask=chat_ask)
