"""How much of a reference's words, word pairs or word order is in an answer?

ROUGE-N, ROUGE-L and ROUGE-Lsum (Lin 2004) with the tokens and the rules of rouge-score 0.1.2: runs of a to z and 0 to 9 in lower case, and
for Lsum sentences that end at line breaks.  The same numbers, in less time: a longest common subsequence takes one addition of long integers for a
token of the answer (Allison & Dix 1986; Hyyrö 2004) instead of a table with a cell for each pair of tokens, so two texts of 100,000
characters take a second rather than minutes and gigabytes.  The time still grows with the product of their lengths.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final

import numpy as np

from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, flag, too_long, yes

Tokens = Sequence[str]
Tokenizer = Callable[[str], list[str]]
Matches = tuple[int, int, int]  # tokens (or n-grams) in common, of the answer, of the reference
WORD = re.compile(r"[a-z0-9]+")
COLUMNS = ("f1", "precision", "recall")
SOURCE = "Lin, ROUGE: a package for automatic evaluation of summaries, 2004; rouge-score 0.1.2"
CAVEAT = "Only the letters a to z and digits count: text in another script scores 0. Of several references the one with the best F1 counts."
MAX_STEM_LENGTH = 3  # tokens of at most so many letters are left as they are


def tokenizer(stem: bool) -> Tokenizer:
    """Text to tokens. Raises EnvironmentLacks: stems are requested and nltk is not installed."""
    if not stem:
        return lambda text: WORD.findall(text.lower())
    stemmed = stemmer()

    def tokenize(text: str) -> list[str]:
        found = (stemmed(word) if len(word) > MAX_STEM_LENGTH else word for word in WORD.findall(text.lower()))
        return [word for word in found if WORD.fullmatch(word)]

    return tokenize


def stemmer() -> Callable[[str], str]:
    """nltk's Porter stemmer, which remembers the words that it has met."""
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise EnvironmentLacks("stems of words need nltk: pip install 'fireassay[quality]'") from None
    return lru_cache(maxsize=1 << 16)(PorterStemmer().stem)


def prepare(metric: str, options: Options, prepared: Callable[[str, Tokenizer], object], matches: Callable[..., Matches]) -> Prepared:
    """A variant: how a text is prepared, and what two prepared texts have in common."""
    stem = flag(metric, options, "stem")
    tokenize = tokenizer(stem)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        table = np.empty((len(answers), len(COLUMNS)))
        for row, answer, wanted in zip(table, answers, references, strict=True):
            own = prepared(answer, tokenize)
            scores = [f_measure(*matches(own, prepared(one, tokenize))) for one in wanted]
            row[:] = max(scores, key=lambda score: score[0]) if scores else np.nan
        return table

    signature = f"metric:{metric}|impl:fireassay@1|as:rouge-score@0.1.2|tok:a-z0-9|case:lc|stem:{yes(stem)}|refs:max"
    return Prepared(signature=f"{signature}|split:newline" if metric == "rouge_lsum" else signature, statistics=statistics)


def f_measure(common: int, answer: int, reference: int) -> tuple[float, float, float]:
    """F1, precision, recall; 0 where there is nothing."""
    precision, recall = common / max(answer, 1), common / max(reference, 1)
    return (2.0 * precision * recall / (precision + recall) if common else 0.0), precision, recall


def unigrams(text: str, tokenize: Tokenizer) -> Counter[str]:
    """Tokens with their counts."""
    return Counter(tokenize(text))


def bigrams(text: str, tokenize: Tokenizer) -> Counter[tuple[str, str]]:
    """Neighbouring tokens with their counts."""
    tokens = tokenize(text)
    return Counter(pairwise(tokens))


def in_common(answer: Mapping[object, int], reference: Mapping[object, int]) -> Matches:
    """N-grams that both have, each as often as in the one that has it less often."""
    small, large = (answer, reference) if len(answer) < len(reference) else (reference, answer)
    common = sum(min(count, large[gram]) for gram, count in small.items() if gram in large)
    return common, sum(answer.values()), sum(reference.values())


def sentences(text: str, tokenize: Tokenizer) -> list[list[str]]:
    """Tokens of each line."""
    return [tokenize(line) for line in text.split("\n") if line]


def in_order(answer: Tokens, reference: Tokens) -> Matches:
    """The longest common subsequence."""
    return lcs_length(answer, reference), len(answer), len(reference)


def lcs_length(one: Tokens, other: Tokens) -> int:
    """Length of the longest common subsequence: zeros of the last row of bits."""
    if len(one) > len(other):
        one, other = other, one
    row = 0
    for row in bit_rows(one, len(other), positions(other, frozenset(one))):  # noqa: B007 - the last one counts
        pass
    return len(other) - row.bit_count()


MAX_LSUM_CHARACTERS: Final = 100_000  # all rows of a line's table are kept: 300 MiB
MAX_LSUM_COMPARED: Final = 20_000_000  # characters of one text for each line of the other: some ten seconds


def too_many_lines(answer: str, reference: str) -> str:
    """Why each line of one text is not compared with each of the other; empty if they are."""
    one, other = (len(text.splitlines()) for text in (answer, reference))
    compared = one * len(reference) + other * len(answer)
    many = f"{one:,} and {other:,} lines, which is too much to compare" if compared > MAX_LSUM_COMPARED else ""
    return too_long(answer, reference, MAX_LSUM_CHARACTERS) or many


def bit_rows(tokens: Tokens, length: int, where: Mapping[str, int]) -> Iterator[int]:
    """The rows of the table, in bits: the one before any token, then one for each."""
    full = row = (1 << length) - 1
    yield row
    for token in tokens:
        if (mask := where.get(token)) is not None:
            both = row & mask
            row = ((row + both) | (row - both)) & full
        yield row


def positions(tokens: Tokens, wanted: Container[str] | None = None) -> dict[str, int]:
    """Token -> bits at which it stands; of the wanted tokens."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if wanted is None or token in wanted:
            places.setdefault(token, []).append(place)
    return {token: _bits(found) for token, found in places.items()}


def _bits(places: Sequence[int]) -> int:
    """Ones at these places, in ascending order, in time linear in the last."""
    row = bytearray(places[-1] // 8 + 1)
    for place in places:
        row[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(row, "little")


def in_sentences(answer: Sequence[Tokens], reference: Sequence[Tokens]) -> Matches:
    """Union over the answer's sentences of what they have in order in common with each of the reference's; no token counts twice."""
    left_answer, left_reference = (
        Counter(token for part in answer for token in part),
        Counter(token for part in reference for token in part),
    )
    common = 0
    for part in reference:
        where = positions(part)
        union = {place for sentence in answer for place in subsequence(sentence, part, where)}
        for place in sorted(union):
            token = part[place]
            if left_answer[token] > 0 and left_reference[token] > 0:
                common += 1
                left_answer[token] -= 1
                left_reference[token] -= 1
    return common, sum(map(len, answer)), sum(map(len, reference))


def subsequence(answer: Tokens, reference: Tokens, where: Mapping[str, int]) -> list[int]:
    """Places in the reference of that longest common subsequence at which rouge-score arrives, walking its table backwards.

    A zero at bit i of row j says that the table's cell (i + 1, j) is larger than (i, j): there the walk goes to the previous token of the answer.
    """
    rows = list(bit_rows(answer, len(reference), where))[1:]
    i, j, places = len(reference) - 1, len(answer) - 1, []
    while i >= 0 and j >= 0:
        if reference[i] == answer[j]:
            places.append(i)
            i, j = i - 1, j - 1
        elif rows[j] >> i & 1:
            i -= 1
        else:
            j -= 1
    return places


def _rouge(
    name: str,
    title: str,
    prepared: Callable[[str, Tokenizer], object],
    matches: Callable[..., Matches],
    caveat: str = "",
    beyond: Callable[[str, str], str] = too_long,
) -> TextMetric:
    return TextMetric(
        name=name,
        title=title,
        better="higher",
        scale=(0.0, 1.0),
        timed=True,
        prepare=partial(prepare, name, prepared=prepared, matches=matches),
        options={"stem": False},
        statistics=COLUMNS,
        beyond=beyond,
        source=SOURCE,
        caveat=f"{CAVEAT} {caveat}".rstrip(),
    )


METRICS = (
    _rouge("rouge_1", "ROUGE-1", unigrams, in_common),
    _rouge("rouge_2", "ROUGE-2", bigrams, in_common),
    _rouge("rouge_l", "ROUGE-L", lambda text, tokenize: tokenize(text), in_order, "The time grows with the product of two texts' lengths."),
    _rouge(
        "rouge_lsum", "ROUGE-Lsum", sentences, in_sentences, "Sentences end at line breaks only: without any it is ROUGE-L.", too_many_lines
    ),
)
