"""Are the changes of a question small, repeatable and told apart?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.scoring.perturbations import GROUP, PERTURBATIONS, perturbed

NAMES = tuple(PERTURBATIONS)
PROMPT = "Question: Tom has 12 pens.\nAnswer: 12\n\nQuestion: It is late, what is the Weather in Paris today?\nA. Rainy\nAnswer:"


def task(prompt: str = PROMPT, shots: int = 1, cluster: str | None = None) -> Task:
    items = tuple(Item(id=f"q{n}", prompt=prompt, references=("x",), cluster=cluster, groups={"level": "easy"}) for n in range(3))
    return Task(name="t", items=items, metrics=("exact_match",), method="generation", shots=shots)


def test_every_item_is_asked_as_it_is_and_once_for_every_change() -> None:
    items = perturbed(task(), NAMES, 1).items
    assert len(items) == 3 * (1 + len(NAMES))
    assert len({item.id for item in items}) == len(items)
    assert [item.groups[GROUP] for item in items[: 1 + len(NAMES)]] == ["none", *NAMES]
    assert items[1].id == "q0~lower_case"
    assert items[0].prompt == PROMPT
    assert all(item.groups["level"] == "easy" and item.references == ("x",) for item in items)


def test_the_original_is_the_cluster_of_its_variants_within_its_own() -> None:
    assert {item.cluster for item in perturbed(task(), NAMES, 1).items} == {"q0", "q1", "q2"}
    assert {item.cluster for item in perturbed(task(cluster="passage"), NAMES, 1).items} == {"passage"}


def test_examples_labels_and_numbers_stay() -> None:
    made = {item.groups[GROUP]: item.prompt for item in perturbed(task(), NAMES, 1).items[: 1 + len(NAMES)]}
    for prompt in made.values():
        assert prompt.startswith("Question: Tom has 12 pens.\nAnswer: 12\n\nQuestion:")
        assert prompt.endswith("\nAnswer:")
    assert made["lower_case"].endswith("Question: it is late, what is the weather in paris today?\nA. rainy\nAnswer:")
    assert made["contractions"].endswith("Question: It's late, what's the Weather in Paris today?\nA. Rainy\nAnswer:")
    assert made["spaces"] != PROMPT
    assert made["spaces"].split() == PROMPT.split()


@given(text=st.text(max_size=300), seed=st.integers(0, 10**6))
def test_a_seed_gives_the_same_text_and_typos_replace_letters_only(text: str, seed: int) -> None:
    once, again = (perturbed(task(text, 0), NAMES, seed).items for _ in range(2))
    assert once == again
    typos = next(item.prompt for item in once if item.groups[GROUP] == "typos")
    assert len(typos) == len(text)


def test_about_a_tenth_of_the_long_words_has_a_typo_and_seeds_differ() -> None:
    text = "weather " * 2000
    one, two = (perturbed(task(text, 0), ["typos"], seed).items[1].prompt for seed in (1, 2))
    changed = sum(word != "weather" for word in one.split())
    assert 140 < changed < 260  # 200 of 2000 expected; five standard deviations are 67
    assert one != two


def test_changes_and_seed_are_conditions() -> None:
    options = perturbed(task(), ["typos", "spaces"], 7).options
    assert options == {"perturbations": "typos@1,spaces@1", "perturbation_seed": 7}


def test_an_unknown_change_is_refused() -> None:
    with pytest.raises(SpecError, match="Did you mean typos"):
        perturbed(task(), ["typo"], 1)
