"""Where does a script's data come from without the network?  Small files of the right format, the same every time, made for `corpus.py`.

    python data.py KIND FOLDER

Each kind is a function with its own name; none of it is anybody's data set.
"""

import json
import pickle
import struct
import sys
from pathlib import Path

import numpy as np

LINE = "the a of to and in that is was he for it with as his on be at by had not are but from or have an they which one you"
WORDS = LINE.split()


def mnist(folder, counts=(2000, 500)):
    """Pictures of 28 x 28 with a bright bar whose place is the label, 2,000 and 500 of them, in `folder/MNIST/raw`."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, count in zip(("train", "t10k"), counts, strict=True):
        labels = random.integers(0, 10, count).astype(np.uint8)
        pictures = random.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        for label in range(10):
            pictures[labels == label, 4:24, 2 * label + 4 : 2 * label + 6] = 255
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pictures.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def mnist_whole(folder):
    """The same with 60,000 and 10,000, for scripts that count on it."""
    mnist(folder, (60000, 10000))


def mnist_torch(folder):
    """Likewise as `training.pt` and `test.pt` in `folder/MNIST/processed`, which Lightning's own reader wants."""
    import torch

    place = folder / "MNIST" / "processed"
    place.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(0)
    for name, count in (("training.pt", 60000), ("test.pt", 10000)):
        labels = torch.randint(0, 10, (count,), generator=generator)
        pictures = torch.randint(0, 60, (count, 28, 28), generator=generator, dtype=torch.uint8)
        pictures[torch.arange(count), :, 2 * labels + 4] = 255
        torch.save((pictures, labels), place / name)


def words(folder):
    """Three texts, `train.txt`, `valid.txt` and `test.txt`, of lines of ten words."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, lines in (("train", 700), ("valid", 60), ("test", 60)):
        text = "\n".join(" ".join(random.choice(WORDS, 10)) for _ in range(lines))
        (folder / f"{part}.txt").write_text(text + "\n")


def text(folder):
    """One text, `input.txt`, of 40,000 characters or so."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    (folder / "input.txt").write_text("\n".join(" ".join(random.choice(WORDS, 8)) for _ in range(1500)))


def names(folder):
    """One word of 3 to 8 letters a line, in `names.txt`: 2,000 of them."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    letters = list("aeioubdklmnrst")
    lines = ["".join(random.choice(letters, random.integers(3, 9))) for _ in range(2000)]
    (folder / "names.txt").write_text("\n".join(dict.fromkeys(lines)))


def tokens(folder):
    """Two files of 16 bit token numbers below 65, `train.bin` and `val.bin`, and `meta.pkl` with the size of the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, count in (("train", 50_000), ("val", 10_000)):
        (np.cumsum(random.integers(0, 3, count)) % 65).astype(np.uint16).tofile(folder / f"{part}.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 65}))


def shards(folder):
    """Three files `data0.bin` to `data2.bin` of 16 bit token numbers below 64."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for number in range(3):
        (np.cumsum(random.integers(0, 3, 20_000)) % 64).astype(np.uint16).tofile(folder / f"data{number}.bin")


def preferences(folder):
    """Questions with a better and a worse answer, `train.jsonl` and `test.jsonl`, as TRL's trainers of preferences read them."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, count in (("train", 96), ("test", 16)):
        lines = [{name: " ".join(random.choice(WORDS, 6)) for name in ("prompt", "chosen", "rejected")} for _ in range(count)]
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")


def pictures(folder):
    """Folders `train` and `val` of PNG files of 32 x 32, two classes of 96 and 24 pictures each."""
    from PIL import Image

    random = np.random.default_rng(0)
    for part, count in (("train", 96), ("val", 24)):
        for label, name in enumerate(("bright", "dark")):
            place = folder / part / name
            place.mkdir(parents=True, exist_ok=True)
            for number in range(count):
                low = 128 * (1 - label)
                Image.fromarray(random.integers(low, low + 127, (32, 32, 3)).astype(np.uint8)).save(place / f"{number}.png")


def glue(folder):
    """What `load_dataset("glue", "mrpc")` finds in the working folder: pairs of sentences and whether they are equal."""
    place = folder / "glue"
    place.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, count in (("train", 256), ("validation", 100), ("test", 40)):
        lines = []
        for number in range(count):
            label = int(random.integers(0, 2))
            one = " ".join(random.choice(WORDS, random.integers(5, 12)))
            other = one if label else " ".join(random.choice(WORDS, random.integers(5, 12)))
            lines.append(json.dumps({"sentence1": one, "sentence2": other, "label": label, "idx": number}))
        (place / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    parts = "".join(f"  - split: {part}\n    path: {part}.jsonl\n" for part in ("train", "validation", "test"))
    features = "".join(f"  - name: sentence{one}\n    dtype: string\n" for one in (1, 2))
    label = "  - name: label\n    dtype:\n      class_label:\n        names:\n          '0': different\n          '1': equal\n"
    (place / "README.md").write_text(
        f"---\ndataset_info:\n- config_name: mrpc\n  features:\n{features}{label}  - name: idx\n    dtype: int32\n"
        f"configs:\n- config_name: mrpc\n  data_files:\n{parts}---\n"
    )


def bert(folder):
    """A BERT of two layers with random weights and a vocabulary of words, in `bert-base-cased`."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    place = folder / "bert-base-cased"
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    BertForSequenceClassification(config).save_pretrained(place)
    (place / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (place / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 128})
    )


def picotron(folder):
    """A Llama of two layers, a tokenizer of words and short stories, in `made`, and one file of settings for each kind and worker count."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    place = folder / "made"
    (folder / "hf_model" / "made").mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *dict.fromkeys(WORDS)])}
    vocabulary |= {f"[{number}]": number for number in range(len(vocabulary), 64)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", eos_token="[62]", pad_token="[63]").save_pretrained(place)
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    model = LlamaForCausalLM(shape)
    model.save_pretrained(folder / "hf_model_safetensors")
    model.save_pretrained(place)
    shape.save_pretrained(folder / "hf_model" / "made")
    random = np.random.default_rng(0)
    lines = [json.dumps({"text": " ".join(random.choice(WORDS, 33))}) for _ in range(400)]
    (folder / "stories").mkdir(exist_ok=True)
    (folder / "stories" / "train.jsonl").write_text("\n".join(lines) + "\n")
    for kind in ("tp", "pp", "dp"):
        for workers in (1, 2):
            sizes = {f"{one}_size": workers if one == kind else 1 for one in ("tp", "cp", "pp", "dp")}
            settings = {
                "distributed": {**sizes, "pp_engine": "1f1b", "backend": "gloo", "use_cpu": True},
                "model": {"name": "made", "dtype": "float32", "use_flash_attention": False, "use_fused_adam": False},
                "training": {
                    "seed": 42,
                    "learning_rate": 3e-3,
                    "total_train_steps": 20,
                    "seq_length": 32,
                    "micro_batch_size": 4,
                    "gradient_accumulation_steps": 2 // sizes["dp_size"],
                    "num_samples": 400,
                    "max_tokens": 20 * 2 * 4 * 32,
                },
                "dataset": {"name": "stories", "subset_name": None, "num_workers": 0, "num_proc": 1},
                "checkpoint": {"save_dir": "saved", "save_frequency": 10, "load_path": ""},
                "logging": {"use_wandb": False, "project_name": "made", "run_name": None},
                "environment": {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "FLASH_ATTEN": "0", "HF_TOKEN": "none"},
            }
            (folder / f"{kind}{workers}.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
