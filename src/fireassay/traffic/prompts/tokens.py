"""How many tokens does a text have, by the model's own tokenizer?

Read from a folder or file, never from a network.

* With a tokenizer (`tokenizer.json`, read by the `tokenizers` package): counts are the model's own; chats are rendered by the adjacent
  chat template (`tokenizer_config.json` or `chat_template.jinja`) in a sandbox, as engines do.
* Without one, a word is a token, and the record says `words`.

Counting is the expensive part of generating traffic, so building a prompt counts nothing (`fireassay.traffic.prompts.texts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from fireassay.errors import EnvironmentLacks, SpecError, refuse
from fireassay.spec import user_file
from fireassay.traffic.parts import Json

if TYPE_CHECKING:
    import jinja2
    import tokenizers

MAX_TOKENIZER: Final = 256 << 20  # bytes; the largest have 40 million
FILE: Final = "tokenizer.json"
INSTALL: Final = 'pip install "fireassay[serving]"'
WORD_MARKS: Final = "Ġ▁"  # how byte-level and SentencePiece vocabularies write a leading space
MAX_WORD_LENGTH: Final = 12
COMMON: Final = (
    "the be to of and in that have it for not on with he as you do at this but his by from they we say her she or an will "
    "my one all would there their what so up out if about who get which go me when make can like time no just him know take "
    "people into year your good some could them see other than then now look only come its over think also back after use "
    "two how our work first well way even new want because any these give day most us is are was were been has had did made "
    "great where through long still life should world school high last never around before might own both house again small "
    "home hand large water place such number part line name set end side while next turn move live point city play near "
    "earth page father head stand country found answer plant late run left press close night real few north open seem "
    "together white children begin got walk example ease paper group always music those mark book letter until mile river "
    "car feet care second enough plain girl young ready above ever red list though feel talk bird soon body dog family "
    "direct pose leave song measure door product black short class wind question happen complete ship area half rock order "
    "fire south problem piece told knew pass since top whole king space heard best hour better true during hundred five"
)


class Tokenizer(Protocol):
    """Token counting for the rest of the traffic. `special`: includes the tokenizer's special tokens."""

    kind: str

    def count(self, text: str, *, special: bool = False) -> int:
        """Tokens of a text."""

    def counts(self, texts: Sequence[str], *, special: bool = False) -> list[int]:
        """The same for many texts."""

    def ends(self, texts: Sequence[str]) -> list[list[int]]:
        """For every text, the number of characters up to the end of each token."""

    def render(self, messages: Sequence[Json]) -> str | None:
        """The messages as the model's input, ready for its answer; None without a chat template.

        Raises:
            ValueError: the template rejects them.
        """

    def words(self) -> Sequence[str]:
        """Lower-case words of its vocabulary, most frequent first."""

    def describe(self) -> dict[str, Any]:
        """Its identity for the record."""


class Words:
    """One token per word: for engines whose tokenizer is not available."""

    kind = "words"

    def count(self, text: str, *, special: bool = False) -> int:
        """Words separated by white space."""
        return len(text.split())

    def counts(self, texts: Sequence[str], *, special: bool = False) -> list[int]:
        """The same for many texts."""
        return [len(text.split()) for text in texts]

    def ends(self, texts: Sequence[str]) -> list[list[int]]:
        """Where each word ends."""
        return [_word_ends(text) for text in texts]

    def render(self, messages: Sequence[Json]) -> str | None:
        """None: there is no chat template."""
        return None

    def words(self) -> Sequence[str]:
        """Words that are one token in almost every vocabulary, so that lengths in words approximate lengths in tokens."""
        return COMMON.split()

    def describe(self) -> dict[str, Any]:
        """Its identity for the record."""
        return {"kind": self.kind}


class ModelTokenizer:
    """A model's own tokenizer."""

    kind = "tokenizer"

    def __init__(self, encoder: tokenizers.Tokenizer, template: ChatTemplate | None, sha256: str) -> None:
        self._encoder, self._template, self._sha256 = encoder, template, sha256
        encoder.no_truncation()
        encoder.no_padding()

    def count(self, text: str, *, special: bool = False) -> int:
        """Tokens of a text."""
        return len(self._encoder.encode(text, add_special_tokens=special))

    def counts(self, texts: Sequence[str], *, special: bool = False) -> list[int]:
        """The same for many texts, on all processors."""
        return [len(encoding) for encoding in self._encoder.encode_batch(list(texts), add_special_tokens=special)]

    def ends(self, texts: Sequence[str]) -> list[list[int]]:
        """For every text, each token's end; a token within a character ends with the character."""
        encoded = self._encoder.encode_batch(list(texts), add_special_tokens=False)
        return [[end for _, end in encoding.offsets] for encoding in encoded]

    def render(self, messages: Sequence[Json]) -> str | None:
        """Render by the chat template."""
        return None if self._template is None else self._template.render(messages)

    def words(self) -> Sequence[str]:
        """From its vocabulary, lowest IDs first: trainers assign them to the most frequent pieces."""
        ids: dict[str, int] = {}
        for token, number in self._encoder.get_vocab().items():
            word = token.lstrip(WORD_MARKS)
            if 2 <= len(word) <= MAX_WORD_LENGTH and word.isascii() and word.isalpha() and word.islower():
                ids[word] = min(number, ids.get(word, number))
        return sorted(ids, key=lambda word: (ids[word], word))

    def describe(self) -> dict[str, Any]:
        """Its identity for the record."""
        chat = None if self._template is None else self._template.sha256
        size = self._encoder.get_vocab_size()
        return {"kind": self.kind, "sha256": self._sha256, "vocabulary": size, "chat_template_sha256": chat}


class ChatTemplate:
    """A chat template in Jinja, rendered in a sandbox: it comes with a model and is untrusted."""

    def __init__(self, source: str, special: Mapping[str, str]) -> None:
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        self._special = dict(special)
        self._template = _environment().from_string(source)

    def render(self, messages: Sequence[Json]) -> str:
        """The text of the messages, ready for the answer. Raises ValueError: the template rejects them."""
        try:
            return self._template.render(messages=list(messages), add_generation_prompt=True, tools=None, documents=None, **self._special)
        except Exception as error:  # a third-party template may raise anything
            raise ValueError(f"the chat template rejects these messages: {type(error).__name__}: {error}"[:300]) from None


def load(text: str, base: Path) -> Tokenizer:
    """The tokenizer named by `serving.tokenizer`, relative to `base`; default: words.

    Raises:
        SpecError: the tokenizer does not exist or cannot be read.
        EnvironmentLacks: the package `tokenizers` is not installed.
    """
    if not text:
        return Words()
    file = _file(text, base)
    try:
        import tokenizers
    except ImportError:
        raise EnvironmentLacks(f"a tokenizer needs the package tokenizers. Install it: {INSTALL}") from None
    try:
        content = user_file.content(file, MAX_TOKENIZER)
    except OSError as error:
        raise _wrong(text, f"{file.name}, {error.strerror}", f"a {FILE} of the tokenizers package") from None
    try:
        encoder = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # the package raises bare exceptions
        raise _wrong(text, f"{file.name}, which cannot be read ({error})"[:200], f"a {FILE} of the tokenizers package") from None
    return ModelTokenizer(encoder, _template(file.parent, text), hashlib.sha256(content).hexdigest())


def _file(text: str, base: Path) -> Path:
    path = base / Path(text).expanduser()
    file = path / FILE if path.is_dir() else path
    if file.is_file():
        return file
    problem = f"{text!r}, a folder without {FILE}" if path.is_dir() else f"{text!r}, which does not exist"
    remedy = "Copy tokenizer.json and tokenizer_config.json of the model there; nothing is downloaded."
    if path.is_dir() and (path / "tokenizer.model").is_file():
        remedy = "Write one from tokenizer.model: transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)."
    raise _wrong(text, problem, f"a folder or file with the model's {FILE}", remedy)


def _wrong(text: str, found: str, allowed: str, remedy: str = "") -> SpecError:
    return refuse("serving.tokenizer", found, allowed, remedy, source="the load")


def _template(folder: Path, text: str) -> ChatTemplate | None:
    """The chat template next to a tokenizer, if any."""
    config = _read_json(folder / "tokenizer_config.json", text)
    source = _source(folder, config, text)
    if source is None:
        return None
    special = {name: _plain(value) for name, value in config.items() if name.endswith("_token") and _plain(value)}
    try:
        return ChatTemplate(source, special)
    except Exception as error:
        raise _wrong(text, f"a chat template that cannot be read ({error})"[:200], "a template in Jinja") from None


def _source(folder: Path, config: Mapping[str, Any], text: str) -> str | None:
    if (folder / "chat_template.jinja").is_file():
        return user_file.content(folder / "chat_template.jinja").decode()
    template = config.get("chat_template") or _read_json(folder / "chat_template.json", text).get("chat_template")
    if isinstance(template, list):  # several named templates
        templates = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = templates.get("default")
    return template if isinstance(template, str) else None


def _read_json(file: Path, text: str) -> dict[str, Any]:
    try:
        document = json.loads(user_file.content(file, MAX_TOKENIZER))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _wrong(text, f"{file.name}, which cannot be read ({error})"[:200], "JSON") from None
    return document if isinstance(document, dict) else {}


def _plain(value: object) -> str:
    """A special token, written as text or as an object that contains it."""
    inner = value.get("content") if isinstance(value, dict) else value
    return inner if isinstance(inner, str) else ""


def _environment() -> jinja2.Environment:
    """Set up as in engines: blocks leave no blank lines; templates may reject messages and read the date."""
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks the model's text for training; here it renders its body."""

        tags: set[str] = {"generation"}  # noqa: RUF012 (jinja2 declares it as a plain set)

        def parse(self, parser: Any) -> Any:
            """The body of the block."""
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    def as_json(value: object, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = as_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _word_ends(text: str) -> list[int]:
    ends, at = [], 0
    for word in text.split():
        at = text.index(word, at) + len(word)
        ends.append(at)
    return ends
