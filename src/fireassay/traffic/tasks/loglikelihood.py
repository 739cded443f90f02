"""How is a request for the probability of a given text built?

Context and continuation are sent as one prompt that the engine echoes with log probabilities; nothing is generated, and nothing streamed.
`Ask.documents` keeps the two parts, because the answer's tokens have to be divided between them.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task


def ask(prompt: Prompt, base: Ask) -> Ask:
    """Add both texts to the ask; a prompt without documents has no context."""
    parts = prompt.documents if len(prompt.documents) == 2 else ("", "".join(prompt.documents) or prompt.text)
    return base._replace(
        prompt="".join(parts), documents=parts, stream=False, max_tokens=None, temperature=0.0, ignore_eos=False, seed=None, logprobs=True
    )


TASK = Task(name="loglikelihood", streams=False, ask=ask)
