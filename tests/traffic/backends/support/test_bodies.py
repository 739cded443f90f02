"""Are bodies that are put together from kept parts the same as if each were made whole?"""

from __future__ import annotations

from types import MappingProxyType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import data_url, deep, flat, images_of, member, merged, numbers, text_of, without
from fireassay.traffic.parts import Ask

ASK = Ask(task="completions", model="m", prompt="p", max_tokens=3)


def make(**kept: object) -> object:
    return flat(lambda ask, target: "/p", lambda ask, target: kept, lambda ask, head: member("prompt", ask.prompt))


@given(st.text(st.characters(exclude_categories=("Cs",))), st.dictionaries(st.text("abc", min_size=1), st.integers(0, 9)))
def test_a_flat_body_is_json_of_kept_and_changing_keys(prompt: str, kept: dict[str, int]) -> None:
    wire = make(**kept)(Ask(task="t", model="m", prompt=prompt), Target())  # type: ignore[operator]
    assert orjson.loads(wire.body) == {**kept, "prompt": prompt}


def test_nothing_is_shared_between_targets_or_kinds_of_ask() -> None:
    wire = flat(lambda ask, target: target.name, lambda ask, target: {"t": ask.temperature}, lambda ask, head: b"")
    one, two = Target(name="one", options={"body.x": 1}), Target(name="two")
    for _ in range(2):
        assert (wire(ASK, one).path, wire(ASK, one).body) == ("one", b'{"t":0.0,"x":1}')
        assert (wire(ASK, two).path, wire(ASK, two).body) == ("two", b'{"t":0.0}')
        warm = Ask(task="completions", model="m", prompt="p", max_tokens=3, temperature=0.5)
        assert wire(warm, two).body == b'{"t":0.5}'


def test_a_target_that_lies_where_another_lay_is_not_taken_for_it() -> None:
    wire = flat(lambda ask, target: "/", lambda ask, target: {"n": target.name}, lambda ask, head: b"")
    names = {wire(ASK, Target(name=f"t{number}")).body for number in range(1000)}  # ids are used again, and the cache is bounded
    assert len(names) == 1000


def test_a_deep_body_merges_and_the_users_keys_count() -> None:
    wire = deep(
        lambda ask, target: "/p",
        lambda ask, target: {"a": {"kept": 1, "seed": 2}},
        lambda ask, head: {"a": {"n": ask.max_tokens, "gone": 0}, "b": 5},
    )
    target = Target(options={"body.a.seed": 7, "omit": "a.gone, b"})
    assert orjson.loads(wire(ASK, target).body) == {"a": {"kept": 1, "seed": 7, "n": 3}}


def test_the_path_option_counts() -> None:
    wire = flat(lambda ask, target: "/p", lambda ask, target: {}, lambda ask, head: b"")
    assert wire(ASK, Target(options={"path": "/q"})).path == "/q"
    assert wire(ASK, Target()).body == b"{}"


def test_small_parts() -> None:
    assert numbers(("a", 1), ("b", None), ("c", 0)) == b',"a":1,"c":0'
    assert merged({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}, "b": {"z": 3}}) == {"a": {"x": 1, "y": 2}, "b": {"z": 3}}
    assert without({"a": {"x": 1, "y": 2}, "x": 3}, frozenset({"a.x"})) == {"a": {"y": 2}, "x": 3}
    assert member("m", (MappingProxyType({"role": "user"}),)) == b',"m":[{"role":"user"}]'


def test_texts_and_images_of_a_message() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "What"},
        {"type": "text", "text": "?"},
    ]
    assert (text_of(parts), text_of("plain"), text_of(None)) == ("What?", "plain", "")
    assert images_of(parts) == ["data:image/png;base64,AAAA"]
    assert data_url("data:image/png;base64,AAAA") == ("image/png", "AAAA")
    with pytest.raises(ValueError, match="data URL"):
        data_url("https://example.org/a.png")
