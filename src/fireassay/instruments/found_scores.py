"""Which scores does a script print or log without reporting them to assay?

With a target (`FIREASSAY_TARGET` has its name, or several in lines) these are read for it: text of `print` and of `logging` (lines of
MLPerf's logger too), TensorBoard's `add_scalar(s)`, W&B's `log`, the `log` of transformers' Trainer. A name fits if it is the target's,
whatever joins its words, alone or behind another word: "Test accuracy: 0.75", "eval/accuracy" and "Accuracy/val" are accuracies. Behind
train, best, target and the like (`OTHER`) it is another number.
"75 %" is 0.75, "9912/10000" a share. A line that gives two values, or one that may be of training data ("Train Epoch: 1 Loss: 0.3"), of a
batch ("Acc@1 75.2 (74.9)") or no decimal number ("0,75"), is not read: the event `score_unclear` names it.
One whose name says that it is of held-out data has ", held out" behind its source, as many scripts log "loss" and "val/loss".
The step is the one logged, or of the line ("step 200", "epoch 3"), else none.
Other logged names that could be a target are noted once (event `score_name`), so that a misspelt target can be answered with them.
Cannot tell: the step of a line without one; whether the data were held out.
"""

from __future__ import annotations

import builtins
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from fireassay.instruments.hooks.import_hook import when_there
from fireassay.instruments.recorder import singleton

VARIABLE: Final = "FIREASSAY_TARGET"
HELD_OUT: Final = r"val|valid|validation|eval|evaluation|test|dev|held[-_ ]?out"
TRAINING: Final = ("train", "training", "trn")
OTHER: Final = (
    *TRAINING,
    *("running", "smoothed", "batch", "best", "peak", "target", "goal", "max", "min", "previous", "last", "required"),
)
SPLIT: Final = re.compile(rf"(?<![^\W_])(?:(?P<training>{'|'.join(TRAINING)})|{HELD_OUT})(?![^\W_])", re.IGNORECASE)
TOP: Final = re.compile(r"top[\s_-]?(?!1\b)\d+[\s_/.-]*$", re.IGNORECASE)  # "top-5 accuracy"
NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan"
# "accuracy: 0.7", "F1 score: 0.7", "accuracy is 0.7", "accuracy (val): 0.7", "Accuracy of the network on the 10000 test images: 70 %"
BETWEEN: Final = (
    rf"[\"']?(?:[\s_-]score)?(?:\s*[(\[](?:{HELD_OUT})[)\]])?"
    r"(?:\s*[:=]\s*|\s+(?:is\s+|of\s+)?|\s+(?:of|on|for|over)\b[^:=]{0,60}[:=]\s*)"
)
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
STEP: Final = re.compile(r"\b(?:global[_ ]?step|step|iteration|iter|epoch)s?[\"']?\s*[:=#]?\s*(\d{1,15})", re.IGNORECASE)
MAX_LINE: Final = 2_000  # characters that are read of a text
MAX_NAMES: Final = 20  # that are noted
MAX_UNLIKE: Final = 100  # printed lines without the name that are searched for similar words
LIKE: Final = 0.8  # share of common letters (difflib)


class FoundScores:
    """Reads a target's score in what a script prints and logs."""

    def __init__(self, name: str) -> None:
        words = [re.escape(word) for word in re.split(r"[\s_/.-]+", name) if word] or [re.escape(name)]
        joined = r"[\s_/.-]*".join(words)
        self.words = tuple(word.casefold() for word in re.split(r"[\s_/.-]+", name) if word)
        self.name = name
        named = rf"(?:\b(\w+)[\s_/.-]+)?(?<![A-Za-z0-9])({joined}){BETWEEN}"
        share = rf"(?:/|(?:out\s+)?of\b)\s*({NUMBER})"
        average = rf"(\(\s*(?:{NUMBER})\s*\))"  # after a batch's value
        self._in_text = re.compile(rf"{named}({NUMBER})(?!\w|[.,]\d)\s*(?:{share}|(%)|{average})?", re.IGNORECASE)
        self._near = re.compile(rf"{named}(?:tensor)?[(\[]*[-+]?\d", re.IGNORECASE)
        self._alone = re.compile(rf"(?:.*[\s_/.-])?({joined})(?:[\s_/.-]+(?:{HELD_OUT}))?", re.IGNORECASE)
        self._before = re.compile(rf"(?:.*[\s_/.-])?(\w+)[\s_/.-]+{joined}.*", re.IGNORECASE)
        self._noted: set[str] = set()
        self.unlike = 0  # lines without the name so far
        self._busy = False

    def text(self, text: str, source: str) -> None:
        """A printed or logged text; every line is read alone."""
        for line in map(_mlperf, COLOUR.sub("", text[:MAX_LINE]).splitlines()):
            if not all(word in line.casefold() for word in self.words):
                continue
            matches = [match for match in self._in_text.finditer(line) if not self._other(match)]
            values = {_value(match) for match in matches}
            if len(values) > 1 or None in values or (not values and self._may_be_one(line)):
                self._unclear(line)
            elif values:
                step = STEP.search(line)
                named = line[: max(match.end() for match in matches)]
                self._report(next(iter(values)), int(step[1]) if step else None, source, named)

    def _other(self, match: re.Match[str]) -> bool:
        """True if what stands before a name in its line makes it another number."""
        before = match.string[: match.start(2)]
        return _another(match[1], self.words) or TOP.search(before) is not None or self._of_training(before)

    def _of_training(self, before: str) -> bool:
        """True if of the words for training and held-out data in front of the name the last one is training; a name may have its own."""
        splits = [] if SPLIT.search(self.name) else list(SPLIT.finditer(before))
        return bool(splits and splits[-1]["training"])

    def _may_be_one(self, line: str) -> bool:
        """True if a line without a readable value has one that a person could take for the target's."""
        return any(not _another(match[1], self.words) and TOP.search(line[: match.start(2)]) is None for match in self._near.finditer(line))

    def fits(self, tag: str) -> bool:
        """True if a logged name is the target's."""
        if self._alone.fullmatch(tag) is None:
            return False
        before = self._before.fullmatch(tag)
        return before is None or not (_another(before[1], self.words) or self._of_training(tag[: before.end(1)]))

    def scalar(self, tag: Any, value: Any, step: Any, source: str) -> None:
        """A logged number and its name."""
        if not isinstance(tag, str):
            return
        if self.fits(tag):
            self._report(value, int(step) if isinstance(step, int) else None, source, tag)
        else:
            self._note(tag, source)

    def like(self, line: str) -> None:
        """Note words of a line that a misspelt target may mean."""
        from difflib import get_close_matches  # deferred: most scripts need none

        self.unlike += 1
        words = re.findall(r"[^\W\d_]{3,}", line[:MAX_LINE])
        for missing in (word for word in self.words if word not in words):
            for near in get_close_matches(missing, words, cutoff=LIKE):
                self._note(near, "printed")

    def _note(self, name: str, source: str) -> None:
        if name not in self._noted and len(self._noted) < MAX_NAMES:
            self._noted.add(name)
            self._event("score_name", {"name": name[:100], "source": source})

    def _report(self, value: Any, step: int | None, source: str, named: str) -> None:
        """`named`: the text up to the value, or its tag; the last word for a split in it says of which data the score is."""
        recorder, splits = singleton.recorder(), list(SPLIT.finditer(named))
        if recorder is not None:
            held_out = bool(splits) and not splits[-1]["training"]
            recorder.scored(self.name, value, step=step, source=f"{source}, held out" if held_out else source)

    def _unclear(self, line: str) -> None:
        if "" not in self._noted:
            self._noted.add("")
            self._event("score_unclear", {"name": self.name, "line": line.strip()[:100]})

    def _event(self, kind: str, detail: Mapping[str, Any]) -> None:
        recorder = singleton.recorder()
        if recorder is not None:
            recorder.event(kind, recorder.now(), detail=detail)

    def guarded(self, read: Callable[..., None], *arguments: Any) -> None:
        """Read what was logged; an error in here never reaches the script, and what is printed meanwhile is not read."""
        if self._busy:
            return
        self._busy = True
        try:
            read(*arguments)
        except Exception as error:
            self._event("score_unclear", {"name": self.name, "line": f"{type(error).__name__}: {error}"[:100]})
        finally:
            self._busy = False


def arm(environ: Mapping[str, str] = os.environ) -> None:
    """Read the target's score in this process from now on, if there is one."""
    for found in map(FoundScores, environ.get(VARIABLE, "").splitlines()):
        _prints(found)
        for hook, *modules in HOOKS:
            for module in modules:
                when_there(functools.partial(hook, found), name=module, stays=True)


def _prints(found: FoundScores) -> None:
    original = builtins.print

    @functools.wraps(original)
    def printed(*values: Any, **words: Any) -> None:
        original(*values, **words)
        texts = [value for value in values if isinstance(value, str)]
        if words.get("file") in (None, sys.stdout, sys.stderr) and (texts or any(isinstance(value, Mapping) for value in values)):
            shown = " ".join(texts).casefold()
            if all(word in shown for word in found.words) or len(texts) < len(values):
                found.guarded(_printed, found, values, str(words.get("sep") or " "))
            elif found.unlike < MAX_UNLIKE:
                found.guarded(found.like, shown)

    builtins.print = printed


def _printed(found: FoundScores, values: tuple[Any, ...], between: str) -> None:
    plain = [value for value in values if isinstance(value, str | int | float | Mapping) or getattr(value, "shape", None) == ()]
    if all(word in between.join(map(_named, plain)).casefold() for word in found.words):
        found.text(between.join(map(_shown, plain)), "printed")


def _named(value: Any) -> str:
    """What may hold a name: text and mappings."""
    return value if isinstance(value, str) else " ".join(map(str, value)) if isinstance(value, Mapping) else ""


def _shown(value: Any) -> str:
    return str(value.item()) if hasattr(value, "item") else str(value)


def _logs(found: FoundScores, logging: Any) -> None:
    original = logging.Logger.handle

    @functools.wraps(original)
    def handle(self: Any, record: Any) -> None:
        original(self, record)
        found.guarded(lambda: found.text(record.getMessage(), "logging"))

    logging.Logger.handle = handle


def _tensorboard(found: FoundScores, module: Any) -> None:
    original = module.SummaryWriter.add_scalar

    @functools.wraps(original)
    def add_scalar(self: Any, tag: Any, scalar_value: Any, global_step: Any = None, *others: Any, **words: Any) -> Any:
        found.guarded(found.scalar, tag, scalar_value, global_step, "tensorboard")
        return original(self, tag, scalar_value, global_step, *others, **words)

    module.SummaryWriter.add_scalar = add_scalar
    several = module.SummaryWriter.add_scalars

    @functools.wraps(several)
    def add_scalars(self: Any, main_tag: Any, tag_scalar_dict: Any, global_step: Any = None, *others: Any, **words: Any) -> Any:
        found.guarded(_all_of, found, {main_tag: tag_scalar_dict}, global_step, "tensorboard")
        return several(self, main_tag, tag_scalar_dict, global_step, *others, **words)

    module.SummaryWriter.add_scalars = add_scalars


def _wandb(found: FoundScores, module: Any) -> None:
    original = module.Run.log

    @functools.wraps(original)
    def log(self: Any, data: Any, step: Any = None, *others: Any, **words: Any) -> Any:
        found.guarded(_all_of, found, data, step, "wandb")
        return original(self, data, step, *others, **words)

    module.Run.log = log


def _trainer(found: FoundScores, module: Any) -> None:
    original = module.Trainer.log

    @functools.wraps(original)
    def log(self: Any, logs: Any, *others: Any, **words: Any) -> Any:
        named = {"train/loss" if tag == "loss" else tag: value for tag, value in logs.items()} if isinstance(logs, Mapping) else logs
        found.guarded(_all_of, found, named, getattr(getattr(self, "state", None), "global_step", None), "trainer")
        return original(self, logs, *others, **words)

    module.Trainer.log = log


def _all_of(found: FoundScores, data: Any, step: Any, source: str) -> None:
    """Every number in a mapping, and in those that it holds, under its name: {"val": {"loss": 0.3}} is val/loss."""
    if isinstance(data, Mapping):
        for tag, value in data.items():
            if isinstance(value, Mapping):
                _all_of(found, {f"{tag}/{name}": inner for name, inner in value.items()}, step, source)
            elif isinstance(value, int | float) or getattr(value, "shape", None) == ():
                found.scalar(tag, value, step, source)


def _mlperf(line: str) -> str:
    """The score of a line of MLPerf's logger as "eval_accuracy: 0.34"; other lines as they are."""
    if ":::MLLOG" not in line:
        return line
    try:
        logged = json.loads(line.rpartition(":::MLLOG")[2])
        return f"{logged['key']}: {logged['value']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return line


def _another(before: str | None, words: tuple[str, ...]) -> bool:
    """True if the word before a name makes it another number; not if that word is the target's own first."""
    return before is not None and before.casefold() in OTHER and before.casefold() != words[0]


def _value(match: re.Match[str]) -> float | None:
    """A share of "9912/10000", 0.75 of "75 %", else the number; None of two numbers that are no counts ("0.9/0.8"), and of a batch's."""
    value = float(match[3])
    if match[4]:
        whole = float(match[4])
        counts = match[3].isdecimal() and match[4].isdecimal() and whole > 0.0 and value <= whole
        return value / whole if counts else None
    return None if match[6] else value / 100.0 if match[5] else value


HOOKS: Final = (
    (_logs, "logging"),
    (_tensorboard, "torch.utils.tensorboard.writer", "tensorboardX.writer"),
    (_wandb, "wandb.sdk.wandb_run"),
    (_trainer, "transformers.trainer"),
)  # each with its modules
