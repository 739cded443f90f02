"""Do the extractors find in replies of many languages what a reader finds?"""

from __future__ import annotations

from tests.quality.scoring.extractors.replies import judged


def test_the_corpus_has_400_replies_in_12_languages() -> None:
    assert len(judged()) >= 400
    assert len({reply.language for reply in judged()}) >= 12
