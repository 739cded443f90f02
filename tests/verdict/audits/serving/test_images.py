"""Images of another size than requested are named; links are said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.verdict.audits.serving.images import blind_image_size, examine_image_size
from fireassay.verdict.types import Finding
from tests.serving_made import ServingMade

DIGEST = "sha256:" + "0" * 64


def images(*texts: str | None, options: dict[str, Any] | None = None, **serving: Any) -> ServingMade:
    """A launch with an answer a second."""
    made = ServingMade(rate=(1.0,), blocks=1, **{"task": "text_to_image", "scenarios": ("I(64,32,2)",)} | serving)
    number = made.launch()
    for second, text in enumerate(texts):
        made.request(number, float(second), text=text)
    assert made.experiment.serving is not None
    targets = (Target(name="server", urls=("http://127.0.0.1:8000",), options=options or {}),)
    made.experiment = made.experiment.model_copy(update={"serving": made.experiment.serving.model_copy(update={"targets": targets})})
    return made


def rules(findings: Iterable[Finding]) -> dict[str, str]:
    return {finding.rule: finding.evidence for finding in findings}


def line(size: str) -> str:
    return f"png {size} 1000 {DIGEST}"


def test_images_of_the_requested_size_are_fine() -> None:
    assert not rules(examine_image_size(images(f"{line('64x32')}\n{line('64x32')}").measured(), {}))


def test_images_of_another_size_are_named_with_their_share() -> None:
    found = rules(examine_image_size(images(f"{line('64x32')}\n{line('32x32')}", f"{line('32x32')}\n{line('8x8')}").measured(), {}))
    assert found == {"image_size_differs": "75 % of 4 images are not 64x32, as requested: 32x32 (2), 8x8 (1)"}


def test_prompts_of_a_file_have_the_size_of_the_target_or_none() -> None:
    other = {"scenarios": ("dataset",), "prompts": {"source": "prompts.jsonl"}}
    assert list(rules(examine_image_size(images(line("8x8"), options={"image_size": "64x64"}, **other).measured(), {}))) == [
        "image_size_differs"
    ]
    assert not rules(examine_image_size(images(line("8x8"), **other).measured(), {}))


def test_links_are_a_note() -> None:
    found = rules(examine_image_size(images("link\nlink", line("64x32")).measured(), {}))
    assert found == {"images_as_links": "1 of 2 answers came with links in place of images, whose transfer is in no time"}


def test_it_is_blind_without_descriptions_and_silent_about_texts() -> None:
    assert blind_image_size(images(None).measured(), {}) == "no answer's description was kept (serving.client.keep_text)"
    text = images("png 8x8 1 ", task="chat", scenarios=("D(8,8)",)).measured()
    assert (blind_image_size(text, {}), list(examine_image_size(text, {}))) == (None, [])
