"""How long does it take to score many answers with BLEU, ROUGE-L and token F1, beside the libraries that define them?

Theirs: sacrebleu's `corpus_score`, rouge-score's `RougeScorer.score` for each pair, and for F1 the functions of SQuAD's script written out here; one score
of the corpus each.  Ours: `scoring.score_all`, which gives every item's statistics and score as well.  In one process, in turns, processor
time; Markdown on stdout.

    python benchmarks/text_scores.py [PAIRS] [ROUNDS]      (20,000 pairs, 5 rounds: about two minutes)

Promise: at most 1.3 times the time of theirs, and the same numbers to 1e-9.
"""

from __future__ import annotations

import platform
import random
import re
import statistics
import string
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from fireassay.quality.scoring import scoring

LIMIT, AGREED = 1.3, 1e-9
NAMES = ("bleu", "rouge_l", "f1")
VOCABULARY = 5000


def main(pairs: int, rounds: int) -> int:
    """Print a table; 1 if the promise is broken."""
    answers, references = texts(random.Random(1), pairs)
    theirs = {"bleu": sacrebleu, "rouge_l": rouge_score, "f1": squad_script}
    spent: dict[tuple[str, str], list[float]] = {(side, name): [] for name in NAMES for side in ("ours", "theirs")}
    apart = 0.0
    for number in range(rounds):
        for name in NAMES:
            found = {}
            for side in ("ours", "theirs") if number % 2 else ("theirs", "ours"):
                work = (
                    (lambda name=name: own(name, answers, references))
                    if side == "ours"
                    else lambda name=name: theirs[name](answers, references)
                )
                begin = time.process_time()
                found[side] = work()
                spent[side, name].append(time.process_time() - begin)
            apart = max(apart, abs(found["ours"] - found["theirs"]))
    print(f"{datetime.now(UTC):%Y-%m-%d}, {pairs} pairs, {rounds} rounds, Python {platform.python_version()}, {platform.machine()}\n")
    print("| score | ours, s of processor time | theirs | ratio, median of rounds |\n|---|---|---|---|")
    for name in NAMES:
        line(name, spent["ours", name], spent["theirs", name])
    totals = [[sum(spent[side, name][number] for name in NAMES) for number in range(rounds)] for side in ("ours", "theirs")]
    ratio = line("all three", *totals)
    print(f"\nThe scores differ by at most {apart:.1e}.")
    return 0 if ratio <= LIMIT and apart <= AGREED else 1


def line(name: str, ours: list[float], theirs: list[float]) -> float:
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    print(f"| {name} | {statistics.median(ours):.2f} | {statistics.median(theirs):.2f} | {ratio:.2f} |")
    return ratio


def texts(rng: random.Random, pairs: int) -> tuple[list[str], list[list[str]]]:
    """Sentences of 10 to 40 words of a Zipf-like vocabulary, and the same with every fourth word changed, dropped or doubled."""
    words = [f"{rng.choice('bcdfgklmnprst')}{rng.choice('aeiou')}{number}" for number in range(VOCABULARY)]
    weights = [1.0 / (rank + 3) for rank in range(VOCABULARY)]
    answers, references = [], []
    for _ in range(pairs):
        one = rng.choices(words, weights, k=rng.randint(10, 40))
        other = [rng.choice((word, word, word, rng.choice(words), "", f"{word} {word}")) for word in one]
        answers.append(" ".join(one).capitalize() + ".")
        references.append([" ".join(filter(None, other)).capitalize() + "."])
    return answers, references


def own(name: str, answers: list[str], references: list[list[str]]) -> float:
    (score,) = scoring.prepared([name], {})
    (scored,) = scoring.score_all((score,), answers, references)
    return score.metric.score(scored.rows)


def sacrebleu(answers: list[str], references: list[list[str]]) -> float:
    from sacrebleu.metrics import BLEU

    return float(BLEU(force=True).corpus_score(answers, [[wanted[0] for wanted in references]]).score)


def rouge_score(answers: list[str], references: list[list[str]]) -> float:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return statistics.fmean(scorer.score(wanted[0], answer)["rougeL"].fmeasure for answer, wanted in zip(answers, references, strict=True))


def squad_script(answers: list[str], references: list[list[str]]) -> float:
    """One set of punctuation, one compiled pattern and two bags of words for each pair, as the script has it."""

    def tokens(text: str) -> list[str]:
        excluded = set(string.punctuation)
        plain = "".join(letter for letter in text.lower() if letter not in excluded)
        return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", plain).split()

    def f1(wanted: list[str], answer: list[str]) -> float:
        same = sum((Counter(wanted) & Counter(answer)).values())
        return 2.0 * same / (len(wanted) + len(answer)) if same else 0.0

    return statistics.fmean(f1(tokens(wanted[0]), tokens(answer)) for answer, wanted in zip(answers, references, strict=True))


def counted(position: int, default: int, read: Callable[[str], int] = int) -> int:
    return read(sys.argv[position]) if len(sys.argv) > position else default


if __name__ == "__main__":
    sys.exit(main(counted(1, 20_000), counted(2, 5)))
