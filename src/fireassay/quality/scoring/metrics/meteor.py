"""How well do the answer's words line up with a reference's, by form, by stem and, with a WordNet, by meaning?

nltk's `single_meteor_score` (Lavie & Agarwal 2007): (1 - .5 (chunks / matches)^3) P R / (.9 P + .1 R).  Without option `wordnet` words match
exactly or by their Porter stems only ("exact+stem").  Neither is METEOR 1.5, the Java program, whose numbers differ by tenths.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.metrics.rouge import stemmer
from fireassay.quality.scoring.text_metric import Options, Prepared, TextMetric, by_item, choice, text, wrong

NEEDED = ("index.noun", "data.noun")  # without them a folder is no WordNet


class NoWordNet:
    """A WordNet that knows no word."""

    def synsets(self, _: str) -> list[Any]:
        """Nothing."""
        return []


class Stems:
    """A stemmer that remembers the words that it has met."""

    def __init__(self) -> None:
        self.stem: Callable[[str], str] = stemmer()


def prepare(options: Options) -> Prepared:
    """Options `wordnet` (a folder with index.noun, data.noun and so on; empty: no synonyms) and `tokenize`; nltk."""
    try:
        import nltk
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import single_meteor_score
    except ImportError:
        raise EnvironmentLacks("METEOR needs nltk: pip install 'fireassay[quality]'") from None
    kind = choice("meteor", options, "tokenize", ("words", "split"))
    tokenize = NLTKWordTokenizer().tokenize if kind == "words" else str.split
    wordnet, matches = _wordnet(text("meteor", options, "wordnet"))
    stems = Stems()

    def row(answer: str, references: Sequence[str]) -> float:
        own = tokenize(answer)
        scores = [single_meteor_score(tokenize(wanted), own, stemmer=stems, wordnet=wordnet) for wanted in references]
        return max(scores, default=np.nan)

    signature = f"metric:meteor|impl:nltk@{nltk.__version__}|match:{matches}|tok:{kind}|case:lc|params:0.9,3,0.5|refs:max"
    return Prepared(signature=signature, statistics=by_item(row))


def _wordnet(folder: str) -> tuple[Any, str]:
    if not folder:
        return NoWordNet(), "exact+stem"
    missing = [name for name in NEEDED if not (Path(folder) / name).is_file()]
    if missing:
        raise wrong("meteor", "wordnet", folder, f"a folder of WordNet's files, but {', '.join(missing)} is not there")
    return _loaded(folder)


@lru_cache(maxsize=2)
def _loaded(folder: str) -> tuple[Any, str]:
    import nltk
    from nltk.corpus.reader import WordNetCorpusReader

    class English(WordNetCorpusReader):  # type: ignore[misc]
        """Without the translation to other languages' numbers, for which nltk wants a second WordNet."""

        def map_wn(self, version: str = "") -> None:
            """None."""

    if folder not in nltk.data.path:
        nltk.data.path.append(folder)  # nltk opens files below these folders only
    digest = sha256()
    for path in sorted(path for path in Path(folder).iterdir() if path.is_file()):
        digest.update(path.name.encode() + b"\0" + sha256(path.read_bytes()).digest())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # other languages, which METEOR does not look up
        reader = English(folder, None)
    return reader, f"exact+stem+synonyms|wordnet:sha256:{digest.hexdigest()}"


METRIC = TextMetric(
    name="meteor",
    title="METEOR as in nltk",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    options={"wordnet": "", "tokenize": "words"},
    source="Lavie & Agarwal, WMT 2007, as nltk computes it",
    caveat="Not METEOR 1.5: numbers of the Java program are not comparable. Without option `wordnet` synonyms do not match.",
)
