"""A local encoder, and BERTScore on it against the package bert-score.

The expected rows (F1, precision, recall) are those of bert-score 0.3.13 (which calls itself 0.3.12) with transformers 5.24.0 on 2026-11-26:
`BERTScorer(model_type=FOLDER, num_layers=LAYER, idf=IDF, idf_sents=REFERENCES if IDF else None, nthreads=0, device="cpu").score(ANSWERS, REFERENCES)`
on the folder that `tiny_encoder.save` writes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fireassay.errors import WorkloadError
from fireassay.instruments.encoder import LocalEncoder, load
from fireassay.quality.scoring import scoring
from tests.instruments.tiny_encoder import ANSWERS, REFERENCES, save

pytestmark = pytest.mark.torch

EXPECTED = {
    (1, False): (
        (0.942341, 0.90358, 0.984577),
        (0.923103, 0.99514, 0.860792),
        (0.959824, 0.999911, 0.922827),
        (0.994617, 0.989852, 0.999427),
        (0.897338, 0.969175, 0.835416),
    ),
    (1, True): (
        (0.912998, 0.85067, 0.985181),
        (0.904545, 0.995545, 0.828788),
        (0.959824, 0.999911, 0.922827),
        (0.994687, 0.989852, 0.99957),
        (0.875153, 0.96018, 0.80396),
    ),
    (2, False): (
        (0.998025, 0.998552, 0.997499),
        (0.996582, 0.997361, 0.995805),
        (0.994378, 0.992164, 0.996602),
        (0.997839, 0.997518, 0.998161),
        (0.989069, 0.992522, 0.98564),
    ),
    (2, True): (
        (0.997914, 0.998419, 0.99741),
        (0.996345, 0.997111, 0.99558),
        (0.994378, 0.992164, 0.996602),
        (0.998072, 0.997518, 0.998627),
        (0.989193, 0.991974, 0.986429),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("encoder")
    save(made)
    return made


@pytest.mark.parametrize(("layer", "idf"), EXPECTED)
def test_bertscore_is_that_of_bert_score(folder: Path, layer: int, idf: bool) -> None:
    options: dict[str, str | int | bool] = {"bertscore.model": str(folder), "bertscore.layer": layer, "bertscore.idf": idf}
    (ready,) = scoring.prepared(["bertscore"], options, load)
    (found,) = scoring.score_all((ready,), ANSWERS, [[reference] for reference in REFERENCES])
    assert found.rows == pytest.approx(np.array(EXPECTED[layer, idf]), abs=2e-6)


def test_it_is_the_greedy_matching_of_its_own_vectors(folder: Path) -> None:
    """By loops over tokens, without the two special ones' weight."""
    encoder = load(str(folder))
    answer, reference = encoder.encode(["the cat sat", "a dog ran on"], 0)

    def nearest(tokens: np.ndarray, others: np.ndarray) -> float:
        cosines = [max(float(one @ other) / float(np.linalg.norm(one) * np.linalg.norm(other)) for other in others) for one in tokens[1:-1]]
        return sum(cosines) / len(cosines)

    precision, recall = nearest(answer.vectors, reference.vectors), nearest(reference.vectors, answer.vectors)
    (ready,) = scoring.prepared(["bertscore"], {"bertscore.model": str(folder)}, load)
    (found,) = scoring.score_all((ready,), ["the cat sat"], [["a dog ran on"]])
    assert found.rows[0] == pytest.approx([2 * precision * recall / (precision + recall), precision, recall], abs=1e-12)


def test_similarity_is_the_cosine_of_mean_vectors(folder: Path) -> None:
    (ready,) = scoring.prepared(["similarity"], {"similarity.model": str(folder)}, load)
    (found,) = scoring.score_all((ready,), ["the cat sat", "a dog"], [["the cat sat"], ["the mat", "a dog ran"]])
    one, other, third = (text.vectors.mean(axis=0) for text in load(str(folder)).encode(["a dog", "the mat", "a dog ran"], 0))
    expected = max(float(one @ side) / float(np.linalg.norm(one) * np.linalg.norm(side)) for side in (other, third))
    assert found.scores == pytest.approx([1.0, expected], abs=1e-6)


def test_batches_padding_and_repetitions_move_no_vector(folder: Path) -> None:
    encoder = load(str(folder))
    texts = ["cat", "the dog sat on a mat", "", *ANSWERS * 7]
    alone = [encoder.encode([text], 0)[0] for text in texts]
    for together, one in zip(encoder.encode(texts, 0), alone, strict=True):
        assert together.ids == one.ids
        assert together.vectors == pytest.approx(one.vectors, abs=1e-5)


def test_special_tokens_stand_around_a_text_and_long_ones_are_cut(folder: Path) -> None:
    short, long = load(str(folder)).encode(["cat", "cat " * 100_000], 0)
    assert short.special == (True, False, True)
    assert short.vectors.shape == (3, 16)
    assert len(long.ids) == 16


def test_the_signature_changes_with_a_weight_and_with_the_vocabulary(folder: Path, tmp_path: Path) -> None:
    for name in ("weights", "words"):
        (tmp_path / name).mkdir()
        for path in folder.iterdir():
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / "weights" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    config = tmp_path / "words" / "tokenizer_config.json"
    config.write_text(config.read_text() + "\n")
    plain, other_weights, other_words = (
        dict(part.partition(":sha256:")[::2] for part in LocalEncoder(path).signature.split("|"))
        for path in (folder, tmp_path / "weights", tmp_path / "words")
    )
    assert {key for key in plain if plain[key] != other_weights[key]} == {"weights"}
    assert {key for key in plain if plain[key] != other_words[key]} == {"tokenizer"}


def test_a_pickle_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name.replace("model.safetensors", "pytorch_model.bin")).write_bytes(path.read_bytes())
    with pytest.raises(WorkloadError, match=r"\*\.safetensors"):
        LocalEncoder(tmp_path)


def test_a_layer_that_the_model_has_not_is_refused(folder: Path) -> None:
    with pytest.raises(WorkloadError, match="layer 3 does not exist: the model has 2"):
        load(str(folder)).encode(["cat"], 3)
