"""Does training on more workers give the same model in less time?  A small network learns handwritten digits.

    torchrun --standalone --nproc-per-node 2 examples/digits/train.py          # without assay
    assay run examples/digits.toml                                             # with assay: 1, 2 and 4 workers

The global batch is the same for every worker count: one permutation per epoch is cut into batches, and every rank
takes an equal slice of each, so that the averaged gradient is the one that a single worker computes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from fireassay import probe

DIGITS = Path(__file__).with_name("digits.csv.gz")  # DIGITS.md says where they are from
IMAGES, TRAIN, BATCH = 1797, 1280, 256  # 1280 images are trained on, the other 517 are held out
EPOCHS, SAVE_EVERY, LEARNING_RATE = 12, 20, 5e-3


def network(width: int = 96) -> nn.Module:
    """(n, 1, 8, 8) pixels -> (n, 10) scores."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * width * 16, 10),
    )


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model whose gradients are averaged over all ranks; it begins alike on every rank."""
    torch.manual_seed(seed)
    return DistributedDataParallel(network().to(device))


def batches(rows: Tensor, seed: int, epoch: int, rank: int, workers: int) -> Iterator[Tensor]:
    """This rank's slice of every global batch of the epoch: row numbers of images."""
    order = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(1000 * seed + epoch))]
    mine = BATCH // workers
    for begin in range(0, len(order), BATCH):
        yield order[begin + rank * mine :][:mine]


def learning_rate(done: float, workers: int) -> float:
    """Falls in a straight line to zero; the same for every worker count, because the global batch is."""
    return LEARNING_RATE * (1 - done)


class Training:
    """One model, trained on all workers of a launch, saved and resumed on the way."""

    def __init__(self, p: probe.Probe, args: argparse.Namespace, device: torch.device) -> None:
        self.p, self.args = p, args
        self.rank, self.workers = dist.get_rank(), dist.get_world_size()
        digits = torch.tensor(np.loadtxt(DIGITS, delimiter=",", dtype=np.int64))  # 64 pixels from 0 to 16, then the digit
        self.images = (digits[:, :64] / 16).reshape(-1, 1, 8, 8).to(device)
        self.labels = digits[:, 64].to(device)
        self.model = build(args.seed, self.rank, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.checkpoint = args.scratch / "checkpoint.pt"

    def train(self, rows: Tensor) -> None:
        """All epochs, from the checkpoint on if there is one."""
        p, args, per_epoch, step = self.p, self.args, -(-len(rows) // BATCH), self.load()
        for epoch in range(step // per_epoch, args.epochs):
            loader = batches(rows, args.seed, epoch, self.rank, self.workers)
            for ids in p.steps(islice(loader, step % per_epoch, None), epoch=epoch, start=step):
                with p.phase("forward"):
                    loss = cross_entropy(self.model(self.images[ids]), self.labels[ids])
                with p.phase("backward"):
                    self.optimizer.zero_grad()
                    loss.backward()
                with p.phase("optimizer"):
                    norm = clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.param_groups[0]["lr"] = learning_rate(step / per_epoch / args.epochs, self.workers)
                    self.optimizer.step()
                p.samples(ids)
                p.log(loss=loss, grad_norm=norm)
                step += 1
                if step % SAVE_EVERY == 0:
                    self.save(step)

    def save(self, step: int) -> None:
        """Rank 0 writes beside and renames: a worker that dies meanwhile leaves the older checkpoint whole."""
        with self.p.checkpoint_save():
            if self.rank == 0:
                state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": step}
                torch.save(state, self.checkpoint.with_suffix(".new"))
                self.checkpoint.with_suffix(".new").replace(self.checkpoint)
            dist.barrier()

    def load(self) -> int:
        """The number of steps that the checkpoint holds; 0 without one."""
        if not self.checkpoint.exists():
            return 0
        with self.p.checkpoint_load():
            state = torch.load(self.checkpoint, map_location=self.images.device, weights_only=True)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        return int(state["step"])

    @torch.no_grad()
    def evaluate(self, rows: Tensor) -> None:
        """Score held-out images: this rank's share, each image on one rank only."""
        mine = rows[self.rank :: self.workers]
        with self.p.evaluation():
            predicted, target = self.model(self.images[mine]).argmax(dim=1), self.labels[mine]
            self.p.examples(mine, predicted == target, predictions=predicted, targets=target)


def main() -> None:
    """Train and evaluate one model on all workers of this launch."""
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    # New for every launch, the same for its restarted workers.
    own = Path(tempfile.gettempdir()) / f"digits-{os.environ['TORCHELASTIC_RUN_ID']}-{os.getppid()}"
    parser.add_argument("--scratch", type=Path, default=own, help="where checkpoints are kept")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    rows = torch.randperm(IMAGES, generator=torch.Generator().manual_seed(0))  # the same split in every launch
    with probe.start() as p:
        training = Training(p, args, device)
        p.watch(training.model)
        p.dataset(TRAIN)
        training.train(rows[:TRAIN])
        training.evaluate(rows[TRAIN:])
        p.useful_work(args.epochs * TRAIN)
    dist.barrier()
    del training  # before its group: a reducer that is left over may wait for ever when it is taken apart (torch 2.13)
    dist.destroy_process_group()
    shutil.rmtree(own, ignore_errors=True)


if __name__ == "__main__":
    main()
