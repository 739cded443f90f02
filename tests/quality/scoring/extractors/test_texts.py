"""Is the whole text, its first line, its JSON field or its code found, and nothing around it?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.quality.scoring.extractors.choices import STOPS
from fireassay.quality.scoring.scoring import extractor

FOUND = {
    "whole": [
        (" a\nQ: b ", "a\nQ: b", "whole"),
        ("<THINK>x</THINK> y", "y", "whole"),
        ("x</think>y", "y", "whole"),
        ("<think>x", None, "none"),
        ("y <think>x</think>", "y", "whole"),
    ],
    "first_line": [
        ("\r\n a b \r\nc", "a b", "first_line"),
        ("Question: x?\nAnswer: y", "Question: x?", "first_line"),
        ("a<|eot_id|>b", "a", "first_line"),
        ("", None, "none"),
    ],
    "json_field": [
        ('{"answer": "a", "x": {"answer": ["b"]}}', '["b"]', "json"),
        ('{"Answer": true}', "true", "json"),
        ('{"answer": null}', None, "none"),
        ('{"final_answer" : "\\u0041"}', "A", "json"),
        (f'"answer": {"[" * 3000}', None, "none"),
    ],
}


@pytest.mark.parametrize(("name", "text", "answer", "rule"), [(name, *row) for name, rows in FOUND.items() for row in rows])
def test_the_surest_rule_counts(name: str, text: str, answer: str | None, rule: str) -> None:
    found = extractor(name).extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)


BODY = "    return a + b\n"


@pytest.mark.parametrize(
    ("text", "rule", "answer"),
    [
        (BODY, "raw", BODY),
        (BODY + "\n\ndef test():\n    pass\n", "raw", BODY + "\n"),
        (BODY + "\n# Example\nadd(1, 2)", "raw", BODY),
        (BODY + "\nif __name__ == '__main__':\n    add()", "raw", BODY),
        (BODY + "\nprint(add(1, 2))", "raw", BODY),
        (BODY + "\nclass A: pass", "raw", BODY),
        (
            "def add(a, b):\n    return a + b\n\ndef other():\n    pass\n",
            "raw",
            "def add(a, b):\n    return a + b\n\ndef other():\n    pass\n",
        ),
        ("Sure!\n```python\ndef add(a, b):\n    return a + b\n```\nThis adds.", "fence", "def add(a, b):\n    return a + b\n"),
        ("```\nadd(1, 2)\n```\nand\n```py\ndef add(a, b):\n    pass\n```\n", "fence", "def add(a, b):\n    pass\n"),
        ("```python\nadd = max\n```", "fence", "add = max\n"),
        ("Here:\n```python\ndef add(a, b):\n    return", "open_fence", "def add(a, b):\n    return"),
        ("```python\r\ndef add(): pass\r\n```\r\n", "open_fence", "def add(): pass\r\n```\r\n"),
        ("", "none", None),
        (" \n\t", "none", None),
        ("```python\n```", "none", None),
    ],
)
def test_the_code_is_found(text: str, rule: str, answer: str | None) -> None:
    found = extractor("code").extract(text, ())
    assert (found.rule, found.answer) == (rule, answer)
    assert answer is None or text[found.begin : found.end] == answer


@given(st.sampled_from(STOPS), st.text())
def test_what_follows_a_stop_string_changes_nothing(stop: str, more: str) -> None:
    assert extractor("code").extract(BODY + stop + more.replace("`", ""), ()).answer == BODY


@given(st.text(alphabet=st.sampled_from(list("`\n pydef()x")), max_size=60))
def test_no_text_raises(text: str) -> None:
    found = extractor("code").extract(text, ())
    assert found.answer is None or text[found.begin : found.end] == found.answer


def test_its_signature_has_a_version() -> None:
    assert extractor("code").signature == "extract:code@2"
