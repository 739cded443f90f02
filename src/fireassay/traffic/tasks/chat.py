"""How is a chat request built?

From the prompt's messages; images go into the last message.  If no output length is set, the answer ends where the model ends it,
whatever `ignore_eos` says.
"""

from __future__ import annotations

from fireassay.traffic.parts import Task
from fireassay.traffic.tasks.support.text_answers import chat_ask

TASK = Task(name="chat", streams=True, ask=chat_ask)
