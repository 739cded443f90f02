"""How many runs of words or letters does the answer share with its references, and how many edits lie between them?

From sacrebleu's counts, summed over items.  They come from `_extract_corpus_statistics`, which sacrebleu 2 itself resamples from; each text is
tokenised once.  Batches keep memory small: it holds the n-grams of all references of a call.
The score of many items is never the mean of their own:

* BLEU: the geometric mean of the precisions of 1- to 4-grams times the brevity penalty exp(1 - references' length / answers' length), zero
  counts smoothed as by mteval-v13a ("exp").  The score of one item is sentence BLEU with effective order.
* chrF2: F of beta 2 of the mean precision and recall of 1- to 6-grams of letters, with `word_order` 2 also of words (chrF++), over the orders
  of which both sides have some.
* Translation edit rate: 100 times the insertions, deletions, substitutions and shifts of runs of words over the references' mean length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, choice, flag, too_long, whole

BATCH = 512
ORDERS = 4
TOKENIZERS = ("13a", "intl", "char", "zh", "none", "ja-mecab", "ko-mecab")  # those of models fetch files
BLEU_COLUMNS = ("answer_length", "reference_length", *(f"{what}_{order}" for what in ("common", "all") for order in range(1, ORDERS + 1)))
LETTERS, WORDS, BETA = 6, 2, 2
CHRF_ORDERS = (*(f"letters_{order}" for order in range(1, LETTERS + 1)), *(f"words_{order}" for order in range(1, WORDS + 1)))
CHRF_COLUMNS = tuple(f"{order}_{what}" for order in CHRF_ORDERS for what in ("answer", "reference", "common"))
TER_COLUMNS = ("edits", "reference_length")
MAX_TER_CHARACTERS = 3_000  # of a text: the search for shifts takes some ten seconds, and minutes for twice as many


def library() -> Any:
    """Module `sacrebleu.metrics`. Raises EnvironmentLacks: sacrebleu is not installed."""
    try:
        import sacrebleu.metrics
    except ImportError:
        raise EnvironmentLacks("BLEU, chrF and TER need sacrebleu: pip install 'fireassay[quality]'") from None
    return sacrebleu.metrics


def _prepared(name: str, metric: Any, width: int, more: str = "") -> Prepared:
    """The counts of a metric of sacrebleu, with its own signature; the number of references is that of each item."""
    metric.num_refs = -1
    return Prepared(
        signature=f"metric:{name}|impl:sacrebleu|{metric.get_signature()}{more}",
        statistics=lambda answers, references: counts(metric, answers, references, width),
    )


def counts(metric: Any, answers: Sequence[str], references: Sequence[Sequence[str]], width: int) -> Array:
    """Shape [items, width], zeros where the metric has fewer columns; NaN for an item without a reference."""
    table = np.zeros((len(answers), width))
    for begin in range(0, len(answers), BATCH):
        part = slice(begin, begin + BATCH)
        streams = list(zip_longest(*(wanted or ("",) for wanted in references[part])))
        found = np.array(metric._extract_corpus_statistics(answers[part], streams), dtype=np.float64)
        table[part, : found.shape[1]] = found
    table[[not wanted for wanted in references]] = np.nan
    return table


def prepare_bleu(options: Options) -> Prepared:
    """Options `tokenize` and `lower`; sacrebleu."""
    tokenize, lower = choice("bleu", options, "tokenize", TOKENIZERS), flag("bleu", options, "lower")
    metric = library().BLEU(tokenize=tokenize, lowercase=lower, force=True)
    return _prepared("bleu", metric, len(BLEU_COLUMNS), "|item:eff:yes")


def bleu(totals: Array, *, effective: bool = False) -> Array:
    """BLEU of counts, shape [..., 10]; `effective`: only the orders of which the answers have n-grams."""
    answer, reference = totals[..., 0], totals[..., 1]
    common, every = totals[..., 2 : 2 + ORDERS], totals[..., 2 + ORDERS :]
    some = every > 0.0
    smoothed = np.where(common > 0.0, common, 0.5 ** np.cumsum((common == 0.0) & some, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.where(some, np.log(100.0 * smoothed / every), 0.0 if effective else -np.inf)
        orders = some.sum(axis=-1) if effective else ORDERS
        brevity = np.where(answer < reference, np.where(answer > 0.0, np.exp(1.0 - reference / answer), 0.0), 1.0)
        value = brevity * np.exp(logs.sum(axis=-1) / orders)
    return np.where(np.any(common > 0.0, axis=-1), value, 0.0)


def worst_bleu(rows: Array) -> Array:
    """As long, without a word in common."""
    return np.concatenate([rows[:, :2], np.zeros_like(rows[:, 2 : 2 + ORDERS]), rows[:, 2 + ORDERS :]], axis=1)


def prepare_chrf(options: Options) -> Prepared:
    """Options `word_order` (0: chrF, 2: chrF++), `lower` and `whitespace`; sacrebleu."""
    order = whole("chrf", options, "word_order", 0, WORDS)
    lower, white = flag("chrf", options, "lower"), flag("chrf", options, "whitespace")
    metric = library().CHRF(char_order=LETTERS, word_order=order, beta=BETA, lowercase=lower, whitespace=white)
    return _prepared("chrf", metric, len(CHRF_COLUMNS), f"|beta:{BETA}")


def chrf(totals: Array) -> Array:
    """Corpus chrF of summed counts, shape [..., 24]."""
    answer, reference, common = np.moveaxis(totals.reshape(*totals.shape[:-1], len(CHRF_ORDERS), 3), -1, 0)
    both = (answer > 0.0) & (reference > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = np.maximum(both.sum(axis=-1), 1)
        precision = np.where(both, common / answer, 0.0).sum(axis=-1) / orders
        recall = np.where(both, common / reference, 0.0).sum(axis=-1) / orders
        value = 100.0 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
    return np.where(precision + recall > 0.0, value, 0.0)


def prepare_ter(options: Options) -> Prepared:
    """Options `normalized`, `no_punct`, `asian_support`, `case_sensitive` of sacrebleu."""
    return _prepared("ter", library().TER(**{option: flag("ter", options, option) for option in options}), len(TER_COLUMNS))


def ter(totals: Array) -> Array:
    """Edits over references' length; without any, 100 if there are edits and else 0."""
    edits, length = totals[..., 0], totals[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(100.0 * np.where(length > 0.0, edits / length, (edits > 0.0).astype(np.float64)))


METRICS = (
    TextMetric(
        name="bleu",
        title="BLEU",
        better="higher",
        scale=(0.0, 100.0),
        prepare=prepare_bleu,
        options={"tokenize": "13a", "lower": False},
        statistics=BLEU_COLUMNS,
        of_totals=bleu,
        scores=lambda rows: np.where(np.isnan(rows[:, 0]), np.nan, bleu(rows, effective=True)),  # sentence BLEU
        worst=worst_bleu,
        source="Papineni et al., ACL 2002; Post, A call for clarity in reporting BLEU scores, WMT 2018",
        caveat="Other words with the same meaning count as wrong. The mean of the items' scores is not BLEU.",
    ),
    TextMetric(
        name="chrf",
        title="chrF",
        better="higher",
        scale=(0.0, 100.0),
        prepare=prepare_chrf,
        options={"word_order": 0, "lower": False, "whitespace": False},
        statistics=CHRF_COLUMNS,
        of_totals=chrf,
        scores=lambda rows: np.where(np.isnan(rows[:, 0]), np.nan, chrf(rows)),
        worst=lambda rows: np.asarray(rows * np.tile([1.0, 1.0, 0.0], len(CHRF_ORDERS))),  # as long, without a letter in common
        source="Popović, WMT 2015 and 2017; sacrebleu",
        caveat="Of several references the one with the best score counts. The mean of the items' scores is not chrF.",
    ),
    TextMetric(
        name="ter",
        title="TER",
        better="lower",
        scale=(0.0, float("inf")),
        prepare=prepare_ter,
        options={"normalized": False, "no_punct": False, "asian_support": False, "case_sensitive": False},
        statistics=TER_COLUMNS,
        of_totals=ter,
        scores=lambda rows: np.where(np.isnan(rows[:, 0]), np.nan, ter(rows)),
        beyond=partial(too_long, most=MAX_TER_CHARACTERS),
        # every word of the reference is an edit, if there were not more
        worst=lambda rows: np.stack([rows.max(axis=1), rows[:, 1]], axis=1),
        source="Snover et al., AMTA 2006; sacrebleu",
        caveat="Texts of more than 3,000 characters have no score: the search for shifts takes minutes. The mean of the items' scores is not TER.",
    ),
)
