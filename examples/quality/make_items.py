"""Which questions can anyone put to a small model, without a download?  Three tasks of our own, written out here.

    python examples/quality/make_items.py OUT

Writes, always the same:

    OUT/choices.jsonl    250 multiple-choice questions of six subjects, layout `choices` (subjects are groups)
    OUT/numbers.jsonl    72 numbers in sentences: one to be found, one to be added up; the task is `numbers.toml` beside this file
    OUT/programs.jsonl   12 easy functions to be completed, layout `humaneval`

Every right answer is a fact of the tables below, or computed from the numbers in the question.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
CHOICES = 4

CAPITALS = (
    "France:Paris,Germany:Berlin,Italy:Rome,Spain:Madrid,Portugal:Lisbon,Austria:Vienna,Poland:Warsaw,Greece:Athens,Norway:Oslo,"
    "Sweden:Stockholm,Finland:Helsinki,Denmark:Copenhagen,Ireland:Dublin,Belgium:Brussels,Hungary:Budapest,Romania:Bucharest,"
    "Bulgaria:Sofia,Russia:Moscow,Turkey:Ankara,Egypt:Cairo,Kenya:Nairobi,Japan:Tokyo,China:Beijing,India:New Delhi,"
    "Thailand:Bangkok,Vietnam:Hanoi,Canada:Ottawa,Mexico:Mexico City,Cuba:Havana,Peru:Lima,Chile:Santiago,"
    "Argentina:Buenos Aires,Brazil:Brasilia,Australia:Canberra,Iran:Tehran,Iraq:Baghdad,Syria:Damascus,Nepal:Kathmandu,"
    "Ghana:Accra,Cameroon:Yaounde"
)
OPPOSITES = (
    "hot:cold big:small tall:short fast:slow light:dark hard:soft wet:dry rich:poor young:old full:empty early:late loud:quiet near:far "
    "open:closed clean:dirty sweet:bitter strong:weak thick:thin high:low deep:shallow happy:sad brave:cowardly cheap:expensive "
    "rough:smooth wide:narrow sharp:blunt begin:end arrive:leave win:lose buy:sell"
)
KINDS = {
    "animal": "dog horse rabbit eagle salmon spider whale frog",
    "fruit": "apple banana cherry grape lemon peach plum mango",
    "colour": "red blue green yellow purple orange brown white",
    "tool": "hammer saw chisel wrench drill pliers axe shovel",
    "instrument": "piano violin trumpet drum flute guitar harp cello",
}
ELEMENTS = (
    "hydrogen:H helium:He carbon:C nitrogen:N oxygen:O fluorine:F neon:Ne sodium:Na magnesium:Mg aluminium:Al silicon:Si phosphorus:P "
    "sulphur:S chlorine:Cl argon:Ar potassium:K calcium:Ca iron:Fe nickel:Ni copper:Cu zinc:Zn silver:Ag tin:Sn iodine:I gold:Au "
    "mercury:Hg lead:Pb uranium:U titanium:Ti cobalt:Co"
)
WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = "January February March April May June July August September October November December"
NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry")
THINGS = ("apples", "books", "coins", "stamps", "pencils", "marbles")

PROGRAMS: tuple[tuple[str, str, str, str, str], ...] = (  # name, arguments, what it does, its body, its checks
    ("add", "a, b", "Return the sum of a and b.", "return a + b", "(2, 3) == 5; (-4, 4) == 0; (10, 0) == 10"),
    ("double", "n", "Return n times two.", "return 2 * n", "(4) == 8; (0) == 0; (-3) == -6"),
    ("is_even", "n", "Return True if n is even, else False.", "return n % 2 == 0", "(4) == True; (7) == False; (0) == True"),
    ("largest", "numbers", "Return the largest number in the list.", "return max(numbers)", "([3, 9, 2]) == 9; ([-5, -1]) == -1; ([4]) == 4"),
    ("reverse", "text", "Return the text backwards.", "return text[::-1]", "('abc') == 'cba'; ('') == ''; ('ab') == 'ba'"),
    ("total", "numbers", "Return the sum of the numbers in the list.", "return sum(numbers)", "([1, 2, 3]) == 6; ([]) == 0; ([-1, 1]) == 0"),
    ("first", "items", "Return the first item of the list.", "return items[0]", "([7, 8]) == 7; (['a']) == 'a'"),
    ("absolute", "n", "Return the absolute value of n.", "return abs(n)", "(-3) == 3; (5) == 5; (0) == 0"),
    ("length", "text", "Return the number of characters in the text.", "return len(text)", "('abcd') == 4; ('') == 0"),
    ("square", "n", "Return the square of n.", "return n * n", "(5) == 25; (-2) == 4; (0) == 0"),
    ("shout", "text", "Return the text in upper case.", "return text.upper()", "('abc') == 'ABC'; ('aB') == 'AB'"),
    ("count_vowels", "text", "Return how many letters of the text are one of a, e, i, o, u.",
     "return sum(letter in 'aeiou' for letter in text)", "('banana') == 3; ('rhythm') == 0; ('queue') == 4"),
)  # fmt: skip


def choices() -> Iterator[Row]:
    """Multiple-choice questions; the right one of four stands anywhere."""
    rng = random.Random(1)
    for number, (subject, question, right, others) in enumerate(questions(rng)):
        wrong = rng.sample(sorted({other for other in others if other != right}), CHOICES - 1)
        place = rng.randrange(CHOICES)
        listed = [*wrong[:place], right, *wrong[place:]]
        yield {"id": f"{subject}-{number}", "question": question, "choices": listed, "answer": place, "groups": {"subject": subject}}


def questions(rng: random.Random) -> Iterator[tuple[str, str, str, list[str]]]:
    """Subject, question, right answer, and what wrong answers are taken from."""
    capitals = pairs(CAPITALS, ",")
    for country, capital in capitals.items():
        yield "capitals", f"What is the capital of {country}?", capital, [*capitals.values()]
        yield "countries", f"{capital} is the capital of which country?", country, [*capitals]
    opposites = pairs(OPPOSITES)
    for word, other in opposites.items():
        yield "opposites", f"Which word is the opposite of '{word}'?", other, [*opposites.values()]
    for kind, members in KINDS.items():
        strangers = [word for name, words in KINDS.items() if name != kind for word in words.split()]
        for word in members.split():
            yield "kinds", f"Which of these is {'an' if kind[0] in 'aeiou' else 'a'} {kind}?", word, strangers
    elements = pairs(ELEMENTS)
    for element, symbol in elements.items():
        yield "elements", f"What is the chemical symbol of {element}?", symbol, [*elements.values()]
    for _ in range(70):
        a, b = rng.randrange(2, 30), rng.randrange(2, 30)
        yield "sums", f"What is {a} + {b}?", str(a + b), [str(a + b + by) for by in (-10, -2, -1, 1, 2, 10)]


def pairs(text: str, between: str | None = None) -> dict[str, str]:
    """The text hot:cold big:small as a table."""
    return {one.partition(":")[0]: one.partition(":")[2] for one in text.split(between)}


def numbers() -> Iterator[Row]:
    """Sentences with numbers: `kind` says whether one is found or two are added."""
    rng = random.Random(2)
    for number in range(24):
        a, b, day, month = rng.randrange(2, 40), rng.randrange(2, 40), rng.randrange(1, 29), rng.choice(MONTHS.split())
        year, amount, page = rng.randrange(1900, 2025), rng.randrange(100, 999), rng.randrange(11, 99)
        who, other, thing = *rng.sample(NAMES, 2), rng.choice(THINGS)
        dated = f"The letter of {day} {month} {year} asks {who} to pay {amount} euros; the terms are on page {page}."
        week = f"It was a {rng.choice(WEEK)}."
        found = (
            ("year", f"{week} {dated}", "In which year was the letter written?", year),
            ("amount", f"{week} {dated}", "How many euros does the letter ask for?", amount),
            ("sum", f"{who} has {a} {thing}. {other} gives {who} {b} more {thing}.", f"How many {thing} does {who} have now?", a + b),
        )
        for kind, text, question, answer in found:
            yield {"id": f"{kind}-{number}", "text": text, "question": question, "answer": str(answer), "kind": kind}


def programs() -> Iterator[Row]:
    """Functions in HumanEval's layout."""
    for number, (name, arguments, what, body, checks) in enumerate(PROGRAMS):
        asserts = "".join(f"    assert candidate{check.strip()}\n" for check in checks.split(";"))
        yield {
            "task_id": f"easy/{number}",
            "prompt": f'def {name}({arguments}):\n    """{what}"""\n',
            "entry_point": name,
            "canonical_solution": f"    {body}\n",
            "test": f"def check(candidate):\n{asserts}",
        }


def write(out: Path) -> None:
    """Write the three files, and an empty cache of models beside them: HF_HOME of an engine that must not look elsewhere."""
    (out / "hf" / "hub").mkdir(parents=True, exist_ok=True)
    for name, rows in (("choices", choices()), ("numbers", numbers()), ("programs", programs())):
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (out / f"{name}.jsonl").write_text(text, encoding="utf-8")
        print(f"{out / name}.jsonl: {text.count(chr(10))} items")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write three tasks of our own.")
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)
