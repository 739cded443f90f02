"""Tokenizers made on the spot, and schedules of a few requests: nothing is downloaded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals.schedule import KINDS, PAUSES, Schedule
from fireassay.traffic.prompts.make import Prompts, prompts_of
from fireassay.traffic.prompts.tokens import COMMON, ChatTemplate, ModelTokenizer

MARKS = ["<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>"]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
PLAIN_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] not in ['user', 'assistant'] %}{{ raise_exception('only users and assistants') }}"
    "{% endif %}{{ m['role'] | capitalize }}: {{ m['content'] | trim }}\n\n{% endfor %}Assistant:"
)
CONFIG = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": TEMPLATE}


def corpus() -> list[str]:
    """Text to train on: common words, the first ones most often, and each of the first ones at the begin of lines."""
    words = COMMON.split()
    return [f"{words[k % 60]} " + " ".join(words[: 5 + k % len(words)]) + ", 0123456789." for k in range(600)]


@cache
def bpe() -> tokenizers.Tokenizer:
    """Byte-level BPE with a begin mark, as Llama 3 and Qwen have it."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=800, initial_alphabet=alphabet, special_tokens=MARKS, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


@cache
def unigram() -> tokenizers.Tokenizer:
    """Unigram with the space in front of the word, as in sentence pieces."""
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(
        corpus(), trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False)
    )
    return made


@cache
def wordpiece() -> tokenizers.Tokenizer:
    """WordPiece with marks at both ends, as BERT's embedders have it."""
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(
        corpus(), trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made


@cache
def letters() -> tokenizers.Tokenizer:
    """Bytes without merges: every letter is a token, no word is."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(
        ["a"],
        trainers.BpeTrainer(
            vocab_size=256 + len(MARKS), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=MARKS, show_progress=False
        ),
    )
    return made


@cache
def merging() -> tokenizers.Tokenizer:
    """BPE without any pre-tokenizer, trained so that merges reach over spaces: lengths cannot be added up."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    made.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>", "<s>"], show_progress=False))
    return made


MADE = {"bpe": bpe, "unigram": unigram, "wordpiece": wordpiece, "letters": letters, "merging": merging}


def model(name: str = "bpe", template: str | None = TEMPLATE) -> ModelTokenizer:
    """One of them with a chat template."""
    chat = None if template is None else ChatTemplate(template, {"bos_token": "<s>", "eos_token": "</s>"})
    return ModelTokenizer(MADE[name](), chat, "0" * 64)


def folder(path: Path, name: str = "bpe", config: dict[str, Any] | None = None) -> Path:
    """A model's folder with its tokenizer."""
    path.mkdir(parents=True, exist_ok=True)
    MADE[name]().save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(CONFIG if config is None else config))
    return path


def schedule(n: int, **given: Any) -> Schedule:
    """`n` requests with seeds 1000, 1001 ...; `kind` and `pause_kind` by name."""
    columns: dict[str, Any] = {
        "phase": 2,
        "kind": "normal",
        "stream": -1,
        "session": -1,
        "turn": -1,
        "due_ns": 0,
        "pause_ns": 0,
        "pause_kind": "none",
        "tokens_in": 20,
        "tokens_out": 7,
        "seed": range(1000, 1000 + n),
        "replica": -1,
        "example": -1,
        **given,
    }
    for name, names in (("kind", KINDS), ("pause_kind", PAUSES)):
        told = columns[name]
        columns[name] = names.index(told) if isinstance(told, str) else [names.index(one) for one in told]
    expected = columns.pop("expected", {})
    arrays = {
        name: np.full(n, value, np.int64) if isinstance(value, int) else np.array(list(value), np.int64) for name, value in columns.items()
    }
    return Schedule(**arrays, expected=expected)


def prompts(
    base: Path, *, scenario: str = "D(20,7)", seed: int = 5, launch: int = 0, name: str = "a", record: str = "", **serving: Any
) -> Prompts:
    """What a launch sends, by the keys of [serving]."""
    configuration = Configuration(name=name, workers=1, target="server", scenario=scenario, load=1.0)
    return prompts_of(Serving.model_validate(serving), configuration, base, seed, launch, record=record)
