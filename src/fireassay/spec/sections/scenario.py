"""What does a traffic scenario specify?

The grammar of genai-bench:

    N(480,240)/(300,150)   normal: mean, standard deviation of the input / of the output, in tokens
    U(50,100)/(200,300)    uniform: least, most of the input / of the output; both ends can occur
    U(100,200)             uniform from 1: most of the input, most of the output
    L(50,20)/(300,150)     log-normal: mean, standard deviation of the input / of the output, in tokens
    L(50,20)               log-normal: the same mean and deviation for input and output, drawn independently
    D(100,100)             fixed: input, output
    P(2000,500)/200        fixed: shared prefix, rest of the input / output
    E(1024)                embeddings: tokens of a document
    R(1024,100)            rerank: tokens of a document, tokens of the query
    I(512,512) I(512,512,2)  image and text: width, height[, number of images], in pixels; with text-to-image of the images that are made
    A(100)                 speech: characters of the text
    dataset                the rows of a file, as they are

A form must match completely: non-negative integers, no spaces.  `U` alone and `U` in pairs mean different things, as in
genai-bench (genai_bench/scenarios at commit 7fd04d8; its V, videos, is not supported).  P and L are ours: genai-bench has neither.

What does MLPerf require of a run of one of its scenarios?

Constants, and what a run falls short of.  Source: mlcommons/inference, loadgen/mlperf.conf at 001712e9;
mlcommons/inference_policies, inference_rules.adoc, "Scenarios" and "Early stopping".  Early stopping replaces fixed query counts:
an estimate of the p-quantile at confidence 0.99 needs h(1) + 1 queries (`fireassay.stats.models.queueing.floor`), and Server,
which counts queries over the bound, h(0) if there are none.
Meeting these is necessary but not sufficient for a valid run: accuracy, compliance and equipment are judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from fireassay.errors import Problem, SpecError

Letter = Literal["N", "U", "L", "D", "P", "E", "R", "I", "A", "dataset"]
MAX_TOKENS: Final = 10_000_000  # tokens, characters or pixels; more is a typo
PIXELS: Final = 100_000_000  # width times height of one image
DATASET: Final = "dataset"
OWN_TASKS: Final = (
    *("chat", "completions", "embeddings", "image_chat", "loglikelihood", "rerank", "responses"),
    *("image_to_embeddings", "text_to_image", "text_to_speech"),
)
TASKS: Final = {  # letters valid only for some tasks
    "E": ("embeddings",),
    "R": ("rerank",),
    "I": ("image_chat", "chat", "responses", "image_to_embeddings", "text_to_image"),
}
SHOWN: Final = 80  # characters of an invalid form that are echoed

_N = r"([0-9]{1,18})"  # int() rejects thousands of digits
_PAIR = rf"\({_N},{_N}\)"
_FORMS: Final = {
    "N": (rf"N{_PAIR}/{_PAIR}", "N(mean,deviation)/(mean,deviation)", "N(480,240)/(300,150)"),
    "U": (rf"U{_PAIR}(?:/{_PAIR})?", "U(least,most)/(least,most) or U(most,most)", "U(50,100)/(200,300)"),
    "L": (rf"L{_PAIR}(?:/{_PAIR})?", "L(mean,deviation)/(mean,deviation) or L(mean,deviation)", "L(50,20)/(300,150)"),
    "D": (rf"D{_PAIR}", "D(input,output)", "D(100,100)"),
    "P": (rf"P{_PAIR}/{_N}", "P(prefix,rest)/output", "P(2000,500)/200"),
    "E": (rf"E\({_N}\)", "E(tokens)", "E(1024)"),
    "R": (rf"R{_PAIR}", "R(document,query)", "R(1024,100)"),
    "I": (rf"I\({_N},{_N}(?:,{_N})?\)", "I(width,height) or I(width,height,images)", "I(512,512)"),
    "A": (rf"A\({_N}\)", "A(characters)", "A(100)"),
    DATASET: (DATASET, DATASET, DATASET),
}
ALLOWED: Final = "one of " + ", ".join(example for _, _, example in _FORMS.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One parsed form. `numbers` are in written order."""

    text: str
    letter: Letter
    numbers: tuple[int, ...] = ()

    @property
    def prefix_tokens(self) -> int:
        """Prompt tokens shared by all requests of the scenario."""
        return self.numbers[0] if self.letter == "P" else 0

    @property
    def images(self) -> tuple[int, int, int]:
        """Width, height and number of a request's images; zeros if there are none."""
        if self.letter != "I":
            return 0, 0, 0
        width, height, *many = self.numbers
        return width, height, many[0] if many else 1


def parse(text: str, where: str = "serving.scenarios") -> Scenario:
    """Parse a form. Raises SpecError, naming the closest form, for anything else."""
    wrong = problem(text, where)
    if wrong is not None:
        raise SpecError((wrong,))
    return _read(text)


def problem(text: str, where: str = "serving.scenarios") -> Problem | None:
    """What is wrong with `text` as a scenario; None if valid."""
    quoted = f'"{text if len(text) <= SHOWN else text[:SHOWN] + " ..."}"'
    if not _matches(text):
        return Problem(where, quoted, _allowed(text), _remedy(text))
    return _of_numbers(_read(text), where, quoted)


def unsuited(one: Scenario, task: str, where: str = "serving.task") -> Problem | None:
    """Why a task cannot take a scenario's requests; None if it can, or if the task is unknown."""
    suited = TASKS.get(one.letter)
    if task == "rerank":
        suited = ("rerank",) if one.letter in ("R", DATASET) else ()
    if suited is None or task in suited or task not in OWN_TASKS:
        return None
    pairing = f'"{task}" with the scenario {one.text}'
    if not suited:
        return Problem(where, pairing, "rerank with a scenario R or dataset", 'For example "R(1024,100)".')
    return Problem(where, pairing, " or ".join(suited), f'Write task = "{suited[0]}".')


def _matches(text: str) -> bool:
    return any(re.fullmatch(pattern, text) for pattern, _, _ in _FORMS.values())


def _read(text: str) -> Scenario:
    letter = DATASET if text == DATASET else text[0]
    return Scenario(text=text, letter=cast(Letter, letter), numbers=tuple(int(n) for n in re.findall(_N, text)))


def _of_numbers(scenario: Scenario, where: str, quoted: str) -> Problem | None:
    """What is wrong with the numbers of a well-formed scenario."""
    if any(number > MAX_TOKENS for number in scenario.numbers):
        return Problem(where, quoted, f"numbers of at most {MAX_TOKENS}")
    width, height, images = scenario.images
    if scenario.letter == "I" and 0 in (width, height, images):
        return Problem(where, quoted, "at least one image, of at least one pixel", "Write I(512,512).")
    if width * height > PIXELS:
        return Problem(where, quoted, f"images of at most {PIXELS} pixels")
    if scenario.letter == "U":
        return _of_range(scenario.numbers, where, quoted)
    if scenario.letter == "L" and 0 in scenario.numbers[::2]:
        return Problem(where, quoted, "a mean of at least 1 token", "A log-normal length is never 0.")
    return None


def _of_range(numbers: Sequence[int], where: str, quoted: str) -> Problem | None:
    if len(numbers) == 2:
        if 0 in numbers:
            return Problem(where, quoted, "an upper end of at least 1", "The lower end is 1.")
        return None
    low_in, high_in, low_out, high_out = numbers
    if low_in <= high_in and low_out <= high_out:
        return None
    ordered = (*sorted((low_in, high_in)), *sorted((low_out, high_out)))
    return Problem(where, quoted, "a lower end that does not exceed the upper end", "Write U({},{})/({},{}).".format(*ordered))


def _letter(text: str) -> str | None:
    """The form that was probably intended."""
    bare = text.strip()
    if bare.lower().startswith("data"):
        return DATASET
    return bare[:1].upper() if bare[:1].upper() in _FORMS else None


def _allowed(text: str) -> str:
    letter = _letter(text)
    return ALLOWED if letter is None else f"{_FORMS[letter][1]}, whole numbers, no spaces"


def _remedy(text: str) -> str:
    tidy = _tidied(text)
    if tidy is not None:
        return f'Write "{tidy}".'
    letter = _letter(text)
    if letter is not None:
        return f'For example "{_FORMS[letter][2]}".'
    if text[:1].upper() == "V":
        return "V (videos) cannot be sent."
    return ""


def _tidied(text: str) -> str | None:
    """The text with spaces, brackets, case and separators fixed, if that makes it a form."""
    plain = re.sub(r"\s", "", text).translate(str.maketrans("[]{};:", "()(),,"))
    plain = re.sub(r"([0-9])\.0+(?![0-9])", r"\1", plain)
    plain = DATASET if plain.lower() == DATASET else plain[:1].upper() + plain[1:]
    plain = plain.replace(")(", ")/(").replace("),(", ")/(")
    return plain if _matches(plain) and _of_numbers(_read(plain), "", "") is None else None


# ---- MLPerf ----------------------------------------------------------------------------------------------------------


CONFIDENCE: Final = 0.99  # of early stopping
SECONDS: Final = 600.0
SAMPLES: Final = 24_576  # of the single Offline query, or the whole data set if smaller


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The minimums of a scenario."""

    name: str  # in MLPerf's spelling
    seconds: float  # of the measured part
    queries: int
    samples_per_query: int
    percentile: float | None  # of the reported (SingleStream, MultiStream) or bounded (Server) latency, 0..1


_SCENARIOS: Final = {
    "single_stream": Requirements(name="SingleStream", seconds=SECONDS, queries=64, samples_per_query=1, percentile=0.90),
    "multi_stream": Requirements(name="MultiStream", seconds=SECONDS, queries=662, samples_per_query=8, percentile=0.99),
    "server": Requirements(name="Server", seconds=SECONDS, queries=459, samples_per_query=1, percentile=0.99),
    "offline": Requirements(name="Offline", seconds=SECONDS, queries=1, samples_per_query=SAMPLES, percentile=None),
}


def requirements(process: str) -> Requirements | None:
    """The minimums for these arrivals; None if they are no MLPerf scenario."""
    return _SCENARIOS.get(process)


def shortfalls(process: str, seconds: float, queries: int, samples_per_query: int = 1) -> tuple[str, ...]:
    """What a run falls short of, such as "30 s of 600 s"; empty if it meets the minimums or none are known.

    `seconds`: of the measured part; Offline: until the last response.  `queries`: answered in it.
    """
    minimum = requirements(process)
    if minimum is None:
        return ()
    texts = []
    if seconds < minimum.seconds:
        texts.append(f"{seconds:.4g} s of {minimum.seconds:g} s")
    if queries < minimum.queries:
        texts.append(f"{queries} of {minimum.queries} queries")
    if samples_per_query < minimum.samples_per_query:
        texts.append(f"{samples_per_query} of {minimum.samples_per_query} samples in a query")
    return tuple(texts)


def validity(process: str, seconds: float, queries: int, samples_per_query: int = 1) -> str:
    """A sentence for reports: "MLPerf Server valid: no, 30 s of 600 s"; empty if the arrivals are no MLPerf scenario."""
    minimum = requirements(process)
    if minimum is None:
        return ""
    missing = shortfalls(process, seconds, queries, samples_per_query)
    return f"MLPerf {minimum.name} valid: {'no, ' + ' and '.join(missing) if missing else 'the minimums are met'}"
