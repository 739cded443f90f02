"""How is a model measured without a server?

In the client's own process, step by step, one answer at a time.  Tokenisation, the first forward pass over the prompt and every later
token are timed separately (`fireassay.instruments.calls.generation`): a chunk is a token, and `Answer.tokenize_ns` and `Answer.prefill_ns`
time the steps before the first.  The end-of-sequence token is a chunk without text and counts as a token, as on servers.  A prompt that
does not fit is an error, as on a server.  A given text is scored in one forward pass (task loglikelihood).

The model is a local folder: the option `folder`, else the target's model, else the ask's; nothing is downloaded.

Options: `folder`, `device` ("cpu", "cuda", "cuda:1" ...; default cpu), `dtype` (float32, bfloat16 ...; default: the model folder's),
`threads` (of torch; default: torch's choice).
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING, Final, NoReturn

from fireassay.errors import WorkloadError
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import option
from fireassay.traffic.parts import Answer, Ask, Backend, Kind, Option, Reply, Wire
from fireassay.traffic.replies.openai_json import status_of

if TYPE_CHECKING:
    from fireassay.instruments.calls.generation import Generation, Generator

MAX_TOKENS: Final = 1024  # default limit on an answer's length


def process(target: Target) -> Callable[[Ask], Answer]:
    """A function that answers asks. Loads the model now if the target names it, else at the first ask.

    Raises:
        EnvironmentLacks: torch or transformers is not installed.
        WorkloadError: the folder contains no model.
    """
    loaded: dict[str, Generator] = {}

    def generator(folder: str) -> Generator:
        if folder not in loaded:
            loaded[folder] = load(folder, target)
        return loaded[folder]

    model = option(target, "folder") or target.model
    if model:
        generator(model)
    return lambda ask: answer(generator(model or ask.model), ask)


def folder_of(target: Target, model: str) -> str:
    return option(target, "folder") or target.model or model


def load(folder: str, target: Target, dtype: str = "") -> Generator:
    """The model, as the target's options say; `dtype` instead of theirs."""
    from fireassay.instruments.calls.generation import Generator, quiet

    threads = target.options.get("threads")
    with quiet():
        return Generator(
            folder,
            device=option(target, "device", "cpu"),
            dtype=dtype or option(target, "dtype", "auto"),
            threads=None if threads is None else int(threads),
        )


def answer(generator: Generator, ask: Ask) -> Answer:
    if ask.task == "loglikelihood":
        return _scored(generator, ask)
    try:
        generation = generator.generate(
            ask.prompt,
            ask.messages,
            max_tokens=MAX_TOKENS if ask.max_tokens is None else ask.max_tokens,
            temperature=ask.temperature,
            seed=ask.seed,
            ignore_eos=ask.ignore_eos,
            logprobs=ask.logprobs,
        )
    except WorkloadError as error:
        return Answer(status="error", error=str(error))
    return _answer_of(generation)


def _scored(generator: Generator, ask: Ask) -> Answer:
    """The probabilities of a given continuation."""
    try:
        scoring = generator.score(*ask.documents)
    except WorkloadError as error:
        return Answer(status="error", error=str(error))
    return Answer(
        status="ok",
        tokens_in=scoring.tokens_in,
        chunk_ns=[monotonic_ns()],
        chunk_kind=[int(Kind.OTHER)],
        chunk_chars=[0],
        logprobs=scoring.logprobs,
        tokenize_ns=scoring.tokenize_ns,
        prefill_ns=scoring.forward_ns,
    )


def _answer_of(generation: Generation) -> Answer:
    kinds = [int(Kind.CONTENT)] * len(generation.tokens)
    if generation.finish == "stop":
        kinds[-1] = int(Kind.FINISH)
    return Answer(
        status="ok",
        finish_reason=generation.finish,
        tokens_in=generation.tokens_in,
        tokens_out=len(generation.tokens),
        chunk_ns=generation.token_ns,
        chunk_kind=kinds,
        chunk_chars=[len(piece) for piece in generation.pieces],
        text="".join(generation.pieces) or None,
        logprobs=generation.logprobs,
        tokenize_ns=generation.tokenize_ns,
        prefill_ns=generation.prefill_ns,
    )


def _no_server(*_: object) -> NoReturn:
    raise WorkloadError("the backend process has no server: the model runs in this process")


def wire(ask: Ask, target: Target) -> Wire:
    """Never called: this backend has no connection."""
    _no_server()


def read(reply: Reply, ask: Ask) -> Answer:
    """What became of an ask without an answer: its time was up, or the load's was."""
    return Answer(status=status_of(reply) or "malformed", error=reply.why or None)


BACKEND = Backend(
    name="process",
    tasks=("chat", "completions", "loglikelihood"),
    wire=wire,
    read=read,
    process=process,
    options={
        "folder": Option(meaning="the model's folder, if it differs from the model's name"),
        "device": Option(meaning="the torch device; default: cpu"),
        "dtype": Option(meaning="the torch dtype of the weights; default: the folder's"),
        "threads": Option(meaning="torch threads", kind=int),
    },
)
