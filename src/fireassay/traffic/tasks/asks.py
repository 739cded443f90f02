"""How does a prompt become a request of each kind: text, given text to score, embeddings, ranks, images, speech?

Chat, chat with images and the Responses API send the prompt's messages; images go into the last one, as data URLs, before its text, and a backend
converts them to its own input.  A completion's prompt is one text: a conversation's messages are joined by blank lines.
Without an output length the answer ends where the model ends it, whatever `ignore_eos` says, or it would fill the context.
A given text (loglikelihood) is sent as one prompt that the engine echoes with log probabilities; nothing is generated.  `Ask.documents` keeps
context and continuation, because the answer's tokens have to be divided between them.
Embeddings send all documents at once; a rerank sends a query and the documents.  Only answers of text are streamed.
Embeddings of images send the images without the text.  Speech is no stream of events: its audio is timed as it arrives, whatever is asked.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Json, Prompt, Task
from fireassay.traffic.prompts.texts import flat, messages_of


def _text_ask(prompt: Prompt, base: Ask, *, messages: tuple[Json, ...] = (), text: str = "") -> Ask:
    # Written out: replacing fields takes twice as long, and this runs just before each request is due.
    return Ask(
        task=base.task,
        model=base.model,
        messages=messages,
        prompt=text,
        max_tokens=prompt.tokens_out,
        stream=base.stream,
        temperature=base.temperature,
        ignore_eos=base.ignore_eos and prompt.tokens_out is not None,
        seed=base.seed,
        logprobs=base.logprobs,
    )


def _chat_ask(prompt: Prompt, base: Ask) -> Ask:
    return _text_ask(prompt, base, messages=messages_of(prompt))


def _completion_ask(prompt: Prompt, base: Ask) -> Ask:
    return _text_ask(prompt, base, text=flat(prompt))


def _loglikelihood_ask(prompt: Prompt, base: Ask) -> Ask:
    """A prompt without documents has no context."""
    parts = prompt.documents if len(prompt.documents) == 2 else ("", "".join(prompt.documents) or prompt.text)
    return base._replace(
        prompt="".join(parts), documents=parts, stream=False, max_tokens=None, temperature=0.0, ignore_eos=False, seed=None, logprobs=True
    )


def _embeddings_ask(prompt: Prompt, base: Ask) -> Ask:
    """Without documents, the prompt's text is the only one."""
    return base._replace(documents=prompt.documents or (prompt.text,), stream=False, max_tokens=None)


def _rerank_ask(prompt: Prompt, base: Ask) -> Ask:
    return base._replace(query=prompt.query, documents=prompt.documents, stream=False, max_tokens=None)


def _image_embeddings_ask(prompt: Prompt, base: Ask) -> Ask:
    (message,) = messages_of(prompt)[-1:]
    images = [part for part in message["content"] if part["type"] == "image_url"]
    return base._replace(messages=({"role": "user", "content": images},), stream=False, max_tokens=None)


def _media_ask(prompt: Prompt, base: Ask) -> Ask:
    return base._replace(prompt=flat(prompt), size=prompt.size, stream=False, max_tokens=None)


TASKS = (
    Task(name="chat", streams=True, ask=_chat_ask),
    Task(name="image_chat", streams=True, ask=_chat_ask),
    Task(name="responses", streams=True, ask=_chat_ask),
    Task(name="completions", streams=True, ask=_completion_ask),
    Task(name="loglikelihood", streams=False, ask=_loglikelihood_ask),
    Task(name="embeddings", streams=False, ask=_embeddings_ask),
    Task(name="rerank", streams=False, ask=_rerank_ask),
    Task(name="image_to_embeddings", streams=False, ask=_image_embeddings_ask),
    Task(name="text_to_image", streams=False, ask=_media_ask),
    Task(name="text_to_speech", streams=False, ask=_media_ask),
)
