"""What does request i of a schedule send?

Built just before it is due, in microseconds, from its seed and its history.

    scenario            content
    N U D P             text of an exact token count, in words of the model's vocabulary or of a file
    E R                 documents and, for rerank, a query, likewise
    I                   a synthetic image and a request to describe it; to make images, their size and a text of 20 tokens
    A                   text of a given number of characters
    dataset             the rows of a file, each once before any repeats

Cache busting: after any deliberately shared prefix, a text starts with words unique to its request.  They depend on the record and the
launch as well as on the request's seed, because the configurations of a block and records of one experiment share seeds, and often a server.
Identity-check prompts are the same in every launch and never busted; canaries carry a nonce to repeat.

A later turn contains the earlier messages, with the real answers.  It adds a message as long as a first prompt of `tokens_in` tokens; a
tool step adds a result of `tool_tokens` tokens, with the role `tool` if the model's chat template supports it, else as the user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fireassay.errors import Problem, SpecError
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.scenario import DATASET, Scenario, parse, unsuited
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals.schedule import BLOCK_TOKENS, KINDS, PAUSES, Schedule
from fireassay.traffic.parts import Json, Prompt
from fireassay.traffic.prompts import datasets, texts, tokens
from fireassay.traffic.prompts.datasets import Dataset, DatasetRow
from fireassay.traffic.prompts.texts import Images

if TYPE_CHECKING:
    import numpy.typing as npt

SYNTHETIC: Final = "synthetic"
CANARY: Final = KINDS.index("canary")
NORMAL: Final = KINDS.index("normal")
FIXED: Final = frozenset(KINDS.index(kind) for kind in ("identity", "rerun", "needle"))
TOOLS: Final = frozenset(PAUSES.index(pause) for pause in ("tool", "retrieval"))
FRAMES: Final = {
    "completions": texts.Frame(special=True),
    "embeddings": texts.Frame(special=True),
    "rerank": texts.Frame(),
    "loglikelihood": texts.Frame(special=True),
    "text_to_image": texts.Frame(),
    "text_to_speech": texts.Frame(),
}
DOCUMENTS: Final = ("embeddings", "rerank", "loglikelihood")  # tasks that send documents
SILENT: Final = (*DOCUMENTS, "image_to_embeddings", "text_to_image", "text_to_speech")  # tasks whose answers are not text
PICTURED: Final = ("image_chat", "image_to_embeddings")  # tasks that send images
PAINTED: Final = 20  # tokens of a text from which an image of a given size is made
SEED_BITS: Final = 53  # seeds are below 2**53; higher bits number the parts of a request
QUERY: Final = 2047  # part number of the query
IDENTITY: Final = 0x1DE27174  # separates texts of identity checks from others
NONCE_DIGITS: Final = 12
DESCRIBE: Final = "Describe what you see in this image."


def prompts_of(
    serving: Serving, configuration: Configuration, base: Path, seed: int, launch: int = 0, cluster: str = "", record: str = ""
) -> Prompts:
    """The content source of launch number `launch` with this seed.

    Args:
        base: the folder that file paths are relative to.
        record: the ID of the record.
        cluster: the file's field that labels rows with shared content.

    Raises:
        SpecError: the scenario does not fit the task or the source, or a file cannot be read.
        EnvironmentLacks: the package `tokenizers` is not installed.
    """
    scenario = parse(configuration.scenario)
    problem = unsuited(scenario, serving.task) or _without_source(scenario, serving)
    if problem is not None:
        raise SpecError((problem,), "the load")
    tokenizer = tokens.load(serving.tokenizer, base)
    dataset = None if serving.prompts.source == SYNTHETIC else datasets.load(serving.prompts, base, cluster)
    launched = (configuration.name, seed, launch)
    return Prompts(serving, configuration, tokenizer, dataset, seed, (_salt(*launched, *filter(None, (record,))), _salt(*launched)))


def _without_source(scenario: Scenario, serving: Serving) -> Problem | None:
    spec = serving.prompts
    if scenario.letter == DATASET and spec.source == SYNTHETIC:
        return Problem(
            "serving.prompts.source",
            f'"{SYNTHETIC}" with the scenario {DATASET}',
            "a file",
            "Name one (--dataset FILE), or choose a scenario with lengths, for example D(100,100).",
        )
    if serving.task in PICTURED and scenario.letter != "I" and not spec.image_field:
        return Problem(
            "serving.task",
            f'"{serving.task}" with the scenario {scenario.text} and no prompts.image_field',
            "a source of images",
            'For example scenarios = ["I(512,512)"].',
        )
    return None


class _Columns(NamedTuple):
    """A schedule's columns as memoryviews: their items are Python numbers, four times cheaper to access than an array's."""

    schedule: Schedule
    seed: memoryview
    kind: memoryview
    tokens_in: memoryview
    tokens_out: memoryview
    example: memoryview

    @classmethod
    def of(cls, schedule: Schedule) -> _Columns:
        names = cls._fields[1:]
        arrays = (np.ascontiguousarray(getattr(schedule, name)) for name in names)
        return cls(schedule, *(memoryview(array) for array in arrays))  # type: ignore[arg-type]


class Prompts:
    """The content of a launch. Every method depends only on its arguments; memory does not grow with requests."""

    def __init__(
        self,
        serving: Serving,
        configuration: Configuration,
        tokenizer: tokens.Tokenizer,
        dataset: Dataset | None,
        seed: int,
        salts: tuple[int, int],
    ) -> None:
        """`salts`: of the record, and the same in every record."""
        self.tokenizer, self.dataset = tokenizer, dataset
        self.scenario: Scenario = parse(configuration.scenario)
        self._task, self._asked, self._seed = serving.task, serving.prompts, seed
        self._busts = serving.prompts.cache == "bust"
        self._salt, self._planned_salt = salts if self._busts else (0, 0)
        self._shared = serving.prompts.prefix_tokens or self.scenario.prefix_tokens
        self._raw = self.scenario.letter == DATASET
        self._frame = FRAMES.get(serving.task) or texts.chat_frame(tokenizer)
        self._words = self._task not in DOCUMENTS and self.scenario.letter not in ("I", "A")
        self._synthetic = self._maker()
        self._common = self._words and not self._raw  # text of a given length, as one message
        self._columns: _Columns | None = None

    # ---- public interface ------------------------------------------------------------------------------------------

    def prompt(self, schedule: Schedule, i: int, history: Sequence[Json] = ()) -> Prompt:
        """The prompt of request `i`. `history`: the result of `after` for the previous turn; empty for a first turn."""
        columns = self._columns
        if columns is None or columns.schedule is not schedule:
            columns = self._columns = _Columns.of(schedule)
        seed, kind, requested_in, requested_out = columns.seed[i], columns.kind[i], columns.tokens_in[i], columns.tokens_out[i]
        if self._common and kind == NORMAL and not history and i not in schedule.blocks:
            example = columns.example[i]
            return Prompt(
                text=self._words_of(seed ^ self._salt, requested_in, self._shared),
                tokens_in=None if requested_in < 0 else requested_in,
                tokens_out=None if requested_out < 0 else requested_out,
                example=None if example < 0 else str(example),
                expected=schedule.expected.get(i),
            )
        if history and int(schedule.pause_kind[i]) in TOOLS:
            prompt = self._tool_step(seed, history)
        elif kind == CANARY and self._task not in SILENT:
            prompt = self._canary(schedule, i, history)
        elif self._raw:
            prompt = self._of_file(schedule, i, history)
        elif i in schedule.blocks and self._words and not history:
            numbers = [block ^ self._salt for block in schedule.blocks[i]]
            prompt = _said(self.texts.chained(requested_in, numbers, BLOCK_TOKENS), ())
        elif kind in FIXED:
            prompt = self._synthetic(texts.mix(IDENTITY ^ seed), requested_in, (), 0)
        else:
            prompt = self._synthetic(seed ^ self._salt, requested_in, history, 0 if history else self._shared)
        return Prompt(
            text=prompt.text,
            messages=prompt.messages,
            documents=prompt.documents,
            query=prompt.query,
            images=prompt.images,
            size=prompt.size,
            tokens_in=None if requested_in < 0 else requested_in,
            tokens_out=None if requested_out < 0 else requested_out,
            example=prompt.example or self._example(int(schedule.example[i])),
            expected=prompt.expected or schedule.expected.get(i),
        )

    def after(self, prompt: Prompt, answer: str | None) -> tuple[Json, ...]:
        """The history for the next turn, from the answer's text (None: it failed)."""
        return texts.after(prompt, answer)

    def assign(self, schedule: Schedule, *, planned: bool = False) -> Schedule:
        """The schedule with each request's row number, nonce and reference answer.

        It only records in advance the choices of `prompt`: prompts are identical without it.  `planned`: with nonces that are the same in
        every record, for a digest of what the experiment asks for.
        """
        expected = dict(schedule.expected)
        if self._task not in SILENT:
            for index in np.flatnonzero(schedule.kind == CANARY).tolist():
                expected.setdefault(index, self._nonce(int(schedule.seed[index]), self._planned_salt if planned else self._salt))
        if not self._raw or self.dataset is None:
            return replace(schedule, expected=expected)
        example = self._numbers(schedule)
        answers, shared = (
            {number: text for number, row in enumerate(self.dataset.rows) if (text := getattr(row, name)) is not None}
            for name in ("answer", "cluster")
        )
        cluster = {index: shared[number] for index, number in enumerate(example.tolist()) if number in shared} if shared else {}
        for index, number in enumerate(example.tolist()) if answers else ():
            if number in answers:
                expected.setdefault(index, answers[number])
        return replace(schedule, example=example, expected=expected, cluster=cluster)

    def tokens(self, prompt: Prompt) -> int | None:
        """Prompt tokens as the engine counts them, chat template included; None if images make them unknown.

        Raises:
            ValueError: the chat template rejects the messages.
        """
        seen = self.seen(prompt)
        return None if seen is None else sum(self.tokenizer.counts(seen, special=self.adds_marks))

    @property
    def adds_marks(self) -> bool:
        """True if engines add the tokenizer's special tokens to the texts of `seen`."""
        return self._frame.special

    def seen(self, prompt: Prompt) -> tuple[str, ...] | None:
        """The texts that the engine tokenises; None with images. Raises ValueError: the chat template rejects the messages."""
        if prompt.images:
            return None
        if self._task == "loglikelihood":
            return ("".join(prompt.documents),)
        if prompt.documents or prompt.query:
            return (*prompt.documents, *((prompt.query,) if prompt.query else ()))
        if self._task in FRAMES:
            return (texts.flat(prompt),)
        messages = texts.messages_of(prompt)
        rendered = self.tokenizer.render(messages)
        return (rendered,) if rendered is not None else tuple(str(message.get("content") or "") for message in messages)

    def describe(self) -> dict[str, Any]:
        """The record's description of the texts: tokenizer, exactness and file."""
        made, source = None if self._raw else self.texts, self.dataset
        return {
            "tokenizer": self.tokenizer.describe(),
            "lengths": "as they are" if made is None else "exact" if made.exact else "counted and mended",
            "frame_tokens": None if made is None else made.overhead,
            "tool_role": self.tool_role if self._asked.tool_steps else None,
            "source": source and {"sha256": source.sha256, "format": source.format, "rows": len(source.rows)},
        }

    @cached_property
    def texts(self) -> texts.Texts:
        """The generator for texts of given lengths."""
        corpus = "" if self._raw or self.dataset is None else self.dataset.corpus()
        return texts.Texts(self.tokenizer, self._frame, corpus)

    @cached_property
    def tool_role(self) -> str:
        return texts.tool_role(self.tokenizer)

    # ---- text of given lengths -----------------------------------------------------------------------------------

    def _maker(self) -> Callable[[int, int, Sequence[Json], int], Prompt]:
        """The scenario's prompt builder: (number of the text, tokens, history, shared tokens) -> prompt."""
        if self._task in DOCUMENTS:
            return self._documents
        if self._task == "text_to_image" and self.scenario.letter == "I":
            return self._painting
        return {"I": self._image, "A": self._characters}.get(self.scenario.letter, self._text)

    def _text(self, number: int, n: int, history: Sequence[Json], shared: int) -> Prompt:
        return _said(self._words_of(number, n, shared), history)

    def _words_of(self, number: int, n: int, shared: int) -> str:
        group = (self._salt + texts.mix(number ^ IDENTITY) % self._asked.prefixes) & texts.MASK if shared else 0
        return self.texts.make(max(n, 1), number, shared=shared, group=group, unique=self._busts)

    def _documents(self, number: int, n: int, history: Sequence[Json], shared: int) -> Prompt:
        reranks = self.scenario.letter == "R"
        each = self.scenario.numbers[0] if self.scenario.letter in ("E", "R") else max(n, 1)
        return Prompt(
            documents=tuple(self.texts.make(each, _part(number, k)) for k in range(self._asked.documents)),
            query=self.texts.make(self.scenario.numbers[1], _part(number, QUERY)) if reranks else "",
        )

    def _image(self, number: int, n: int, history: Sequence[Json], shared: int) -> Prompt:
        count = self.scenario.images[2]
        return _said(DESCRIBE, history, tuple(self._drawn.png(_part(number, k)) for k in range(count)))

    def _painting(self, number: int, n: int, history: Sequence[Json], shared: int) -> Prompt:
        return Prompt(text=self._words_of(number, PAINTED, shared), size=self.scenario.images)

    def _characters(self, number: int, n: int, history: Sequence[Json], shared: int) -> Prompt:
        return _said(self.texts.characters(self.scenario.numbers[0], number), history)

    @cached_property
    def _drawn(self) -> Images:
        width, height, _ = self.scenario.images
        return texts.Images(width, height)

    def _tool_step(self, seed: int, history: Sequence[Json]) -> Prompt:
        text = self.texts.content(self._asked.tool_tokens, seed ^ self._salt, unique=self._busts)
        if self.tool_role == "user":
            return _said(text, history)
        call = f"{texts.mix(seed):016x}"[: texts.CALL_ID]
        return Prompt(text=text, messages=texts.tool_step(history, text, call))

    def _canary(self, schedule: Schedule, index: int, history: Sequence[Json]) -> Prompt:
        seed, n = int(schedule.seed[index]), int(schedule.tokens_in[index])
        nonce = schedule.expected.get(index) or self._nonce(seed, self._salt)
        text = f"{nonce} is a code. Begin your answer with it: {nonce}"
        if n >= 0:
            text = self.texts.extended(f"{text}. Then go on with:", n, seed ^ self._salt)
        return Prompt(text=text, messages=(*history, texts.user(text)) if history else (), expected=nonce)

    @staticmethod
    def _nonce(seed: int, salt: int) -> str:
        return f"{texts.mix(texts.mix(seed) ^ salt):016x}"[:NONCE_DIGITS]

    # ---- the rows of a file --------------------------------------------------------------------------------------

    def _of_file(self, schedule: Schedule, index: int, history: Sequence[Json]) -> Prompt:
        number = self._number(schedule, index)
        row = self._rows[number]
        turn = max(0, int(schedule.turn[index]))
        text = self._asked.again if self._asked.again and turn else row.turns[turn % len(row.turns)]
        prompt = self._row(row, text, history)
        unique = self._busts and int(schedule.kind[index]) not in FIXED
        if history or self._task in SILENT or not (unique or self._shared):
            return prompt
        return self._begun(prompt, int(schedule.seed[index]) ^ self._salt, unique)

    def _row(self, row: DatasetRow, text: str, history: Sequence[Json]) -> Prompt:
        earlier = history or row.before
        image_bytes = tuple(texts.from_file(path, self._folder) for path in row.images) if not history else ()
        if self._task in DOCUMENTS:
            documents = row.documents or (text,)
            return Prompt(documents=documents, query=text if self._task == "rerank" else "", example=row.id)
        messages = (*earlier, texts.user(text)) if earlier else ()
        return Prompt(text=text, messages=messages, images=image_bytes, example=row.id, expected=row.answer)

    def _begun(self, prompt: Prompt, number: int, unique: bool) -> Prompt:
        """The prompt, preceded by the shared text and its unique words."""
        group = (self._salt + texts.mix(number ^ IDENTITY) % self._asked.prefixes) & texts.MASK
        shared = f"{self.texts.beginning(self._shared, group)}\n\n" if self._shared else ""
        begin = shared + (f"[{texts.mix(number):016x}] " if unique else "")
        messages = prompt.messages and ({**prompt.messages[0], "content": begin + prompt.messages[0]["content"]}, *prompt.messages[1:])
        text = prompt.text if prompt.messages and len(prompt.messages) > 1 else begin + prompt.text
        return prompt._replace(text=text, messages=messages)

    def _number(self, schedule: Schedule, index: int) -> int:
        """The row of request `index`; all turns of a conversation have the same."""
        if schedule.example[index] >= 0:
            return int(schedule.example[index]) % len(self._rows)
        key = int(schedule.session[index]) if schedule.session[index] >= 0 else index
        return int(self._order[key % len(self._order)])

    def _numbers(self, schedule: Schedule) -> npt.NDArray[np.int64]:
        keys = np.where(schedule.session >= 0, schedule.session, np.arange(len(schedule), dtype=np.int64))
        draws = self._order[keys % len(self._order)]
        return np.where(schedule.example >= 0, schedule.example % len(self._order), draws)

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        """The rows in the launch's order, shuffled: files are often sorted by length or topic."""
        begin = texts.mix(self._seed & texts.MASK)
        return np.array(sorted(range(len(self._rows)), key=lambda row: texts.mix(begin ^ row)), dtype=np.int64)

    @property
    def _rows(self) -> tuple[DatasetRow, ...]:
        return self.dataset.rows if self.dataset is not None else ()

    @property
    def _folder(self) -> Path:
        return self.dataset.folder if self.dataset is not None else Path()

    def _example(self, number: int) -> str | None:
        if number < 0:
            return None
        return self._rows[number % len(self._rows)].id if self._raw else str(number)


def _said(text: str, history: Sequence[Json], image_bytes: tuple[bytes, ...] = ()) -> Prompt:
    messages = (*history, texts.user(text)) if history else ()
    return Prompt(text=text, messages=messages, images=image_bytes)


def _part(number: int, part: int) -> int:
    """The number of one of several texts of a request."""
    return (number + (part << SEED_BITS)) & texts.MASK


def _salt(*parts: str | int) -> int:
    """A number that makes a launch's texts unique."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "big")
