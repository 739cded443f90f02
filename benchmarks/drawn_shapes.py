"""Does `assay score` choose the right image, with cosines that a computation by hand gives?

Draws shapes (colour, shape, how many, where) with Pillow, trains a small CLIPModel of transformers on them from nothing, and lets
`assay score --image` judge new drawings: images of the caption against images of another one, and one right image among nine, of which the others
show other captions, or differ in one word only.  The cosines behind the scores are held against the model's own forward pass, and, with
`--peers PYTHON` (an interpreter with torchmetrics or open_clip), against theirs on the same weights.

    python benchmarks/drawn_shapes.py [FOLDER] [--steps 500] [--peers PYTHON]     (about 4 minutes on two cores; a trained FOLDER is used again)

Promise: the right one of nine in at least 95 %; cosines equal to 1e-6.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

COLOURS = ("red", "green", "blue", "yellow", "purple")
SHAPES = ("circle", "square", "triangle")
COUNTS = ("one", "two", "three")
PLACES = ("left", "right", "top", "bottom")
SIDE = 48  # pixels
BATCH = 90  # scenes of a step
PROMPTS = 200
CANDIDATES = 9
EQUAL = 1e-6
CHOSEN = 0.95


@dataclass(frozen=True)
class Scene:
    """What is drawn."""

    count: str
    colour: str
    shape: str
    place: str

    @property
    def caption(self) -> str:
        return f"{self.count} {self.colour} {self.shape}{'s' if self.count != 'one' else ''} on the {self.place}"


SCENES = tuple(Scene(count, colour, shape, place) for count in COUNTS for colour in COLOURS for shape in SHAPES for place in PLACES)


def draw(scene: Scene, dice: random.Random) -> Image.Image:
    """One drawing of a scene: sizes, places within the half, shades and background vary."""
    image = Image.new("RGB", (SIDE, SIDE), tuple(dice.randint(225, 255) for _ in range(3)))
    pen = ImageDraw.Draw(image)
    shade = tuple(max(0, min(255, value + dice.randint(-25, 25))) for value in Image.new("RGB", (1, 1), scene.colour).getpixel((0, 0)))
    along = dice.sample((7, 23, 39), COUNTS.index(scene.count) + 1)
    for middle in along:
        across = 12 if scene.place in ("left", "top") else 35
        x, y = (across, middle) if scene.place in ("left", "right") else (middle, across)
        x, y, size = x + dice.randint(-2, 2), y + dice.randint(-1, 1), dice.randint(5, 7)
        box = (x - size, y - size, x + size, y + size)
        if scene.shape == "circle":
            pen.ellipse(box, fill=shade)
        elif scene.shape == "square":
            pen.rectangle(box, fill=shade)
        else:
            pen.polygon(((x, y - size), (x - size, y + size), (x + size, y + size)), fill=shade)
    return image


# ---- the model -------------------------------------------------------------------------------------------------------


def tokenizer(folder: Path) -> Any:
    """One token a word, with marks around a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "<s>", "</s>", *sorted({word for scene in SCENES for word in scene.caption.split()})]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=12, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    wrapped.save_pretrained(folder)
    return wrapped


def preprocessor(folder: Path) -> Any:
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    made = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    made.save_pretrained(folder)
    return made


def train(folder: Path, steps: int) -> None:
    """A CLIPModel, each step on new drawings of half of the scenes, so that no caption stands twice in a batch."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(1)
    dice = random.Random(1)
    reads, sees = tokenizer(folder), preprocessor(folder)
    shape = {"intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**shape, "hidden_size": 64, "vocab_size": len(reads), "max_position_embeddings": 12}
    text |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    vision = {**shape, "hidden_size": 64, "image_size": SIDE, "patch_size": 12}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=64))
    ids = reads([scene.caption for scene in SCENES], padding=True, return_tensors="pt")
    words = {name: ids[name] for name in ("input_ids", "attention_mask")}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps, pct_start=0.1)
    begin = time.monotonic()
    for step in range(steps):
        part = dice.sample(range(len(SCENES)), BATCH)
        pixels = sees(images=[draw(SCENES[index], dice) for index in part], return_tensors="pt")["pixel_values"]
        loss = model(**{name: ids[part] for name, ids in words.items()}, pixel_values=pixels, return_loss=True).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0.0, 4.6052)
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.3f}, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    model.eval().save_pretrained(folder)


# ---- what is scored --------------------------------------------------------------------------------------------------


def others(scene: Scene, dice: random.Random, near: bool) -> Iterator[Scene]:
    """Scenes of other captions; `near`: those that differ in one word."""
    if near:
        changes = [("count", COUNTS), ("colour", COLOURS), ("shape", SHAPES), ("place", PLACES)]
        pool = [replace(scene, **{name: value}) for name, values in changes for value in values if value != getattr(scene, name)]
    else:
        pool = [other for other in SCENES if other != scene]
    yield from dice.sample(pool, CANDIDATES - 1)


def write(folder: Path, name: str, sets: Sequence[tuple[Scene, Sequence[Scene]]], dice: random.Random) -> None:
    """A file of answers: for each scene drawings of several, whose first is the right one where there is one."""
    (folder / name).mkdir()
    rows = []
    for number, (wanted, drawn) in enumerate(sets):
        for index, scene in enumerate(drawn):
            path = f"{name}/{number:03}-{index}.png"
            draw(scene, dice).save(folder / path)
            rows.append({"id": number, "prompt": wanted.caption, "image": path})
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def score(folder: Path, model: Path, *words: str) -> tuple[str, list[dict[str, Any]]]:
    """What `assay score` says, and the scores in its record: item, repetition, configuration, score."""
    import pyarrow.parquet as pq

    root = Path(tempfile.mkdtemp(dir=folder))
    options = (
        "--image",
        "image",
        "--id",
        "id",
        "--metric",
        "clipscore",
        "--option",
        f"clipscore.model={model}",
        "--option",
        "clipscore.template={}",
    )
    done = subprocess.run(
        [sys.executable, "-m", "fireassay", "score", *words, *options, "--root", str(root), "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{done.stdout}\n{done.stderr}")
    (record,) = root.iterdir()
    launches, scores = (pq.read_table(record / "tables" / name, partitioning=None).to_pylist() for name in ("launches", "scores"))
    sides = {row["launch"]: row["configuration"] for row in launches}
    return done.stdout, [{**row, "configuration": sides[row["launch"]]} for row in scores]


def chosen(rows: Sequence[dict[str, Any]]) -> float:
    """The share of items whose first image has the highest score."""
    best: dict[str, tuple[float, int]] = {}
    for row in rows:
        best[row["item"]] = max(best.get(row["item"], (-1.0, -1)), (row["score"], row["repetition"]))
    return sum(index == 0 for _, index in best.values()) / len(best)


def by_hand(folder: Path, model: Path, file: str) -> list[float]:
    """The cosine of every row by transformers alone, one at a time."""
    import torch
    from transformers import AutoTokenizer, CLIPModel

    made, reads = CLIPModel.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    mean, deviation = np.array((0.48145466, 0.4578275, 0.40821073)), np.array((0.26862954, 0.26130258, 0.27577711))
    found = []
    for line in (folder / file).read_text().splitlines():
        row = json.loads(line)
        pixels = ((np.asarray(Image.open(folder / row["image"]).convert("RGB")) / 255.0 - mean) / deviation).transpose(2, 0, 1)
        ids = reads(row["prompt"], return_tensors="pt")
        with torch.no_grad():
            out = made(
                input_ids=ids["input_ids"],
                attention_mask=ids["attention_mask"],
                pixel_values=torch.tensor(pixels[None], dtype=torch.float32),
            )
        found.append(float((out.text_embeds.double() * out.image_embeds.double()).sum()))
    return found


def main() -> int:
    """Print a table; 1 if a promise is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--peers", default="", help="an interpreter with torchmetrics or open_clip")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = (given.folder or Path(scratch) / "model").resolve()
        model.mkdir(parents=True, exist_ok=True)
        if not (model / "model.safetensors").exists():
            train(model, given.steps)
        return measured(Path(scratch), model, given.peers)


def measured(folder: Path, model: Path, peers: str) -> int:
    dice = random.Random(7)
    asked = [dice.choice(SCENES) for _ in range(PROMPTS)]
    write(folder, "right", [(scene, [scene]) for scene in asked], dice)
    write(folder, "wrong", [(scene, [next(others(scene, dice, False))]) for scene in asked], dice)
    write(folder, "nine", [(scene, [scene, *others(scene, dice, False)]) for scene in asked], dice)
    write(folder, "near", [(scene, [scene, *others(scene, dice, True)]) for scene in asked], dice)
    said, rows = score(folder, model, "right.jsonl", "wrong.jsonl", "--margin", "0.1")
    print(said)
    ours = sorted((row for row in rows if row["configuration"] == "answers=right"), key=lambda row: int(row["item"]))
    hand = by_hand(folder, model, "right.jsonl")
    apart = max(abs(row["score"] - 2.5 * max(cosine, 0.0)) for row, cosine in zip(ours, hand, strict=True)) / 2.5
    nine, near = (chosen(score(folder, model, f"{name}.jsonl")[1]) for name in ("nine", "near"))
    means = [np.mean([row["score"] for row in rows if row["configuration"] == f"answers={side}"]) for side in ("right", "wrong")]
    print("| what | found |\n|---|---|")
    print(f"| mean CLIPScore of right images, and of wrong ones | {means[0]:.3f}, {means[1]:.3f} |")
    print(f"| the right one of {CANDIDATES} chosen, others of other captions | {nine:.1%} of {PROMPTS} |")
    print(f"| likewise, others that differ in one word | {near:.1%} |")
    print(f"| largest difference of a cosine from transformers' forward pass | {apart:.1e} |")
    broken = nine < CHOSEN or apart > EQUAL
    if peers:
        command = [peers, str(Path(__file__).with_name("image_peers.py")), str(model), str(folder / "right.jsonl")]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            found = json.loads(line)
            if "scores" not in found:
                print(f"| {found['peer']} | {found['why']} |")
                continue
            most = max(abs(row["score"] / 2.5 - max(theirs, 0.0)) for row, theirs in zip(ours, found["scores"], strict=True))
            print(f"| largest difference of a cosine from {found['peer']} | {most:.1e} |")
            broken |= most > EQUAL
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
