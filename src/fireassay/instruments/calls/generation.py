"""How long do the parts of one generation take, in a model in this process?

A causal language model of `transformers` is driven step by step: the prompt is tokenised, one pass over all tokens fills the key-value
cache (prefill), and each further pass takes one token and gives the next. Every token is timed when it is known on the host: reading it
waits for the accelerator, so no time hides in a queue of kernels.

    Times: monotonic ns.  begin -- tokenize -- prefill -> first token -- step -> second token -- ...

A token's text is what it adds to the text so far; bytes of an incomplete character appear with the token that completes it.
One sequence at a time, no batching.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fireassay.errors import EnvironmentLacks, WorkloadError

_HOLE = "\N{REPLACEMENT CHARACTER}"  # a decoder's output for an incomplete character
_MAX_HELD = 16  # tokens with pending text; beyond it, the text is used as is


@dataclass(slots=True, kw_only=True)
class Generation:
    """The result of one prompt. Lists have one entry per token."""

    tokens_in: int
    tokenize_ns: int
    prefill_ns: int = 0  # from the end of tokenising until the first token is known
    tokens: list[int] = field(default_factory=list)
    token_ns: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)  # the text that each token adds, possibly empty
    logprobs: list[float] = field(default_factory=list)
    finish: str = "length"  # length or stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How probable a given text is: the natural logarithm for each of its tokens."""

    tokens_in: int  # of context and continuation
    tokenize_ns: int
    forward_ns: int  # one pass over all of them
    logprobs: list[float]


class Generator:
    """A model and its tokenizer from a local folder, loaded once.

    Raises:
        EnvironmentLacks: torch or transformers is not installed.
        WorkloadError: the folder holds no causal language model that they can load.
    """

    def __init__(self, folder: str | Path, *, device: str = "cpu", dtype: str = "auto", threads: int | None = None) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise EnvironmentLacks(f"a model in this process needs {error.name}: pip install 'fireassay[engine]'") from None
        if threads is not None:
            torch.set_num_threads(threads)
        if not Path(folder).is_dir():
            raise WorkloadError(f"there is no folder {str(folder)!r}. Give the folder of a model that transformers can load")
        try:
            kind = dtype if dtype == "auto" else getattr(torch, dtype)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=kind)
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise WorkloadError(f"no model could be loaded from {str(folder)!r}: {error}") from error
        self._model = model.to(device).eval()
        self._device = device
        self._ends = _ends(self._model, self._tokenizer)
        parameters = inspect.signature(self._model.forward).parameters
        self._cache = "cache" if "cache" in parameters else "past_key_values"  # before transformers 5.24

    def generate(
        self,
        text: str,
        messages: Sequence[Mapping[str, Any]] = (),
        *,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int | None = None,
        ignore_eos: bool = False,
        logprobs: bool = False,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> Generation:
        """Answer a text, or a conversation by the model's own chat template; greedy at temperature 0.

        Raises:
            WorkloadError: the prompt is empty, has no template, or leaves no room for the answer in the model's context.
        """
        import torch

        begin = clock()
        ids = self._encoded(text, messages)
        out = Generation(tokens_in=len(ids), tokenize_ns=clock() - begin)
        self._fits(len(ids), max_tokens)
        choose = _chooser(temperature, seed, self._device)
        after = begin + out.tokenize_ns
        with torch.inference_mode():
            for token, logprob in self._steps(ids, max_tokens, choose, logprobs):
                out.token_ns.append(clock())
                out.tokens.append(token)
                if logprobs:
                    out.logprobs.append(logprob)
                if token in self._ends and not ignore_eos:
                    out.finish = "stop"
                    break
        out.prefill_ns = out.token_ns[0] - after if out.token_ns else 0
        shown = out.tokens[:-1] if out.finish == "stop" else out.tokens
        out.pieces = [*pieces(shown, self._decode), *([""] if out.finish == "stop" else [])]
        return out

    def score(self, context: str, continuation: str, *, clock: Callable[[], int] = time.monotonic_ns) -> Scoring:
        """The log probabilities of a continuation's tokens, from one forward pass and the raw logits in float32.

        A token counts if it ends beyond the context without its final white space: see `fireassay.traffic.backends.support.openai_dialect`.

        Raises:
            WorkloadError: there is no continuation, the tokenizer reports no offsets, or the texts exceed the model's context.
        """
        import torch

        begin = clock()
        ids, first = self.divided(context, continuation)
        after = clock()
        every = self.log_probabilities(ids, first)
        logprobs = every.gather(1, torch.tensor(ids[first:], device=every.device)[:, None])[:, 0].tolist()
        return Scoring(tokens_in=len(ids), tokenize_ns=after - begin, forward_ns=clock() - after, logprobs=logprobs)

    @property
    def dtype(self) -> str:
        """The number format of the weights: "float32"."""
        return str(self._model.dtype).removeprefix("torch.")

    def log_probabilities(self, ids: Sequence[int], first: int) -> Any:
        """The log probabilities of all tokens, at the positions of `ids[first:]`: a tensor of shape [positions, vocabulary], float32.

        Raises:
            WorkloadError: the tokens exceed the model's context.
        """
        import torch

        self._fits(len(ids), 0)
        with torch.inference_mode():
            logits = self._model(input_ids=torch.tensor([list(ids)], device=self._device), use_cache=False).logits[0, first - 1 : -1]
            return torch.log_softmax(logits.float(), -1)

    def divided(self, context: str, continuation: str) -> tuple[list[int], int]:
        """The tokens of both texts, and which is the first that counts. Without a context, the mark of a beginning comes before it.

        Raises:
            WorkloadError: the continuation has no tokens, or the tokenizer reports no offsets.
        """
        if not self._tokenizer.is_fast:
            raise WorkloadError("the model's tokenizer reports no offsets (it is a slow one), so continuations cannot be scored")
        encoding = self._tokenizer(context + continuation, return_offsets_mapping=True)
        ids, border = list(encoding["input_ids"]), len(context.rstrip())
        first = next((index for index, (_, end) in enumerate(encoding["offset_mapping"]) if end > border), len(ids))
        if first == len(ids):
            raise WorkloadError("the continuation has no tokens. Give each choice a text")
        if first == 0:
            prefix = self._tokenizer.bos_token_id if self._tokenizer.bos_token_id is not None else self._tokenizer.eos_token_id
            if prefix is None:
                raise WorkloadError("nothing comes before the first token, and the tokenizer has no mark for a beginning. Give a context")
            ids, first = [prefix, *ids], 1
        return ids, first

    def _steps(self, ids: list[int], most: int, choose: Callable[[Any], Any], logprobs: bool) -> Iterator[tuple[int, float]]:
        import torch

        inputs = torch.tensor([ids], device=self._device)
        cache = None
        for _ in range(most):
            outputs = self._model(input_ids=inputs, use_cache=True, **{self._cache: cache})
            cache, scores = getattr(outputs, self._cache), outputs.logits[0, -1].float()
            chosen = choose(scores)
            token = int(chosen)  # waits for the accelerator
            logprob = float(torch.log_softmax(scores, -1)[token]) if logprobs else 0.0
            yield token, logprob
            inputs = chosen.reshape(1, 1)

    def _encoded(self, text: str, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        if not messages:
            ids = self._tokenizer(text)["input_ids"]
        elif self._tokenizer.chat_template is None:
            raise WorkloadError("the model's tokenizer has no chat template; use the task completions")
        else:
            encoding: Any = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages], add_generation_prompt=True, tokenize=True, return_dict=True
            )
            ids = encoding["input_ids"]
        if not ids:
            raise WorkloadError("the prompt has no tokens. Give longer prompts")
        return list(ids)

    def _fits(self, tokens_in: int, tokens_out: int) -> None:
        room = getattr(self._model.config, "max_position_embeddings", None)
        if room is not None and tokens_in + tokens_out > room:
            raise WorkloadError(
                f"{tokens_in} prompt and {tokens_out} output tokens exceed the model's context of {room}. Shorten the scenario"
            )

    def _decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """The end-of-sequence tokens of the model's own configuration."""
    tokens: set[int] = set()
    for configured in (getattr(model.generation_config, "eos_token_id", None), tokenizer.eos_token_id):
        tokens.update(configured if isinstance(configured, (list, tuple)) else [] if configured is None else [configured])
    return frozenset(tokens)


def _chooser(temperature: float, seed: int | None, device: str) -> Callable[[Any], Any]:
    """A function that picks the next token from scores."""
    import torch

    if temperature <= 0.0:
        return lambda scores: torch.argmax(scores)
    generator = torch.Generator(device=device)
    if seed is not None:
        generator.manual_seed(seed)
    else:
        generator.seed()
    return lambda scores: torch.multinomial(torch.softmax(scores / temperature, -1), 1, generator=generator)[0]


def pieces(tokens: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[str]:
    """The text that each token adds to those before it; their concatenation is the text of all of them.

    A token's text may depend on its neighbours (leading blanks), so it is the difference between two decodings that begin at the last
    emitted token. A text that ends in an incomplete character waits for the next token.
    """
    out: list[str] = []
    begin = emitted = 0  # decoding starts at `begin`; tokens up to `emitted` are emitted
    for index in range(len(tokens)):
        before, now = decode(tokens[begin:emitted]), decode(tokens[begin : index + 1])
        last = index + 1 == len(tokens)
        if now.endswith(_HOLE) and not last and index - emitted < _MAX_HELD:
            out.append("")
            continue
        out.append(now[len(before) :])
        begin, emitted = emitted, index + 1
    return out


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress transformers' progress bars while it loads: a client's output must stay clean."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
