"""How is the reference server configured?

Its times, answer format, capacity and faults. Times are seconds. An answer has one token per word; the first is due `first_s` after the
request came, each further one `next_s` after its predecessor, on an absolute schedule: a late token does not delay later ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Final

from fireassay.instruments.reference_server.solving import shares_of

ROLES: Final = ("with_first", "at_once", "none")
USAGES: Final = ("asked", "always", "never")
TRUTHS: Final = ("all", "ends", "none")


def _setting(default: Any, about: str, **more: Any) -> Any:
    return field(default=default, metadata={"help": about, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The server's configuration; every field is a command-line flag."""

    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(0, "port; 0: any free one")
    name: str = _setting("0", "this replica's name in its truth")
    model: str = _setting("", "the model's name in answers; default: the requested one")
    first_s: float = _setting(0.05, "time from a request to its first token")
    next_s: float = _setting(0.01, "time from a token to the next one")
    spread_first_s: float = _setting(0.0, "added to first_s, uniform from 0 to this")
    spread_next_s: float = _setting(0.0, "added to every gap, uniform from 0 to this")
    exponential: bool = _setting(False, "draw the first token's time from an exponential distribution with mean first_s")
    seed: int = _setting(0, "seed of the times and the faults")
    flush_all: bool = _setting(False, "send an answer in one piece, when its first token is due")
    tokens: int = _setting(64, "tokens of an answer without a requested length")
    tokens_per_chunk: int = _setting(1, "tokens per chunk; a chunk is due with its last token")
    role: str = _setting("with_first", "chat: when the chunk with the role alone is sent", choices=ROLES)
    usage: str = _setting("asked", "whether the stream reports usage", choices=USAGES)
    no_done: bool = _setting(False, "leave out the end mark [DONE]")
    crlf: bool = _setting(False, "end lines with CR LF")
    comments: bool = _setting(False, "begin every send with a comment, like a proxy that keeps connections alive")
    numbered: bool = _setting(False, "begin every answer with the request's number in the truth: r0, r1 ...")
    solves: str = _setting("", "sums in prompts (A + B) are answered right in this share, by steps taken: 0.6,0.75,0.8")
    image_kib: int = _setting(0, "size of every image's file, KiB; 0: as small as it is")
    salt: str = _setting("", "two servers with different salts answer the same prompt differently")
    slots: int = _setting(0, "requests served at a time, others wait; 0: no limit")
    queue: int = _setting(-1, "requests that may wait, more get a 503; -1: no limit")
    spin_s: float = _setting(50e-6, "the last part of a wait, spent polling the clock")
    truth: str = _setting("all", "logged times: every send, the first and last text, or none", choices=TRUTHS)
    truth_file: str = _setting("", "file to which the truth is written at the end, JSON lines")
    fault: tuple[str, ...] = _setting((), "a fault, for example status:code=500,share=0.05 (reference_faults.py)")

    def __post_init__(self) -> None:
        positive = {"tokens": self.tokens, "tokens_per_chunk": self.tokens_per_chunk}
        durations = ("first_s", "next_s", "spread_first_s", "spread_next_s", "spin_s")
        for name, value in positive.items():
            if value < 1:
                raise ValueError(f"{name} = {value}; it must be at least 1")
        for name in durations:
            if not 0.0 <= getattr(self, name) <= 1e6:
                raise ValueError(f"{name} = {getattr(self, name)}; it must be from 0 to 1e6 seconds")

        if not 0 <= self.image_kib <= 65536:
            raise ValueError(f"image_kib = {self.image_kib}; it must be from 0 to 65536")
        shares_of(self.solves)

    def model_name(self, requested: str = "") -> str:
        """The model's name in an answer to a request for `requested`."""
        return self.model or requested or "reference"

    def arguments(self) -> list[str]:
        """The command-line flags for these settings."""
        words: list[str] = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value == item.default:
                continue
            values = value if isinstance(value, tuple) else (value,)
            words += [_flag(item)] if value is True else [f"{_flag(item)}={part}" for part in values]
        return words


def parser() -> argparse.ArgumentParser:
    """The command line, one flag per setting."""
    command_line = argparse.ArgumentParser(
        prog="python -m fireassay.instruments.reference_server",
        description="An OpenAI-style server with known times and faults, which logs the ground truth.",
    )
    for item in fields(Settings):
        about = str(item.metadata["help"]).replace("%", "%%")
        if item.default is False:
            command_line.add_argument(_flag(item), action="store_true", help=about)
        elif isinstance(item.default, tuple):
            command_line.add_argument(_flag(item), action="append", default=[], help=about)
        else:
            command_line.add_argument(
                _flag(item),
                type=type(item.default),
                default=item.default,
                choices=item.metadata.get("choices"),
                help=f"{about} ({item.default})",
            )
    command_line.add_argument("--immediate", action="store_true", help="first_s and next_s are 0")
    command_line.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    return command_line


def settings_of(words: Sequence[str] | None = None) -> tuple[Settings, bool]:
    """(settings of a command line, whether the end of standard input ends the server).

    Raises:
        ValueError: a setting is out of its range.
    """
    values = vars(parser().parse_args(words))
    immediate, until_eof = values.pop("immediate"), values.pop("until_eof")
    values["fault"] = tuple(values["fault"])
    return Settings(**values | ({"first_s": 0.0, "next_s": 0.0} if immediate else {})), until_eof


def _flag(item: Field[Any]) -> str:
    assert item.default is not MISSING
    return "--" + item.name.replace("_", "-")
