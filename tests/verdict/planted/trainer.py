"""A training for assay's hooks with one thing wrong, or that only looks so: python silent.py WHAT"""

import contextlib, os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, TensorDataset

WHAT = sys.argv[1] if len(sys.argv) > 1 else "right"
torch.set_num_threads(1)
dist.init_process_group("gloo")
R, W = dist.get_rank(), dist.get_world_size()
G = torch.Generator().manual_seed(5)
N, D = 384, 12
X = torch.randn(N, D, generator=G)
Y = (X[:, :4].sum(1) > 0).long()
XV = torch.randn(160, D, generator=G)
YV = (XV[:, :4].sum(1) > 0).long()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Dropout(0.2 if "eval" in WHAT else 0.0), nn.Linear(32, 2))
B = 48 // W


class Noisy(Dataset):
    def __init__(s, own=None):
        s.own = own

    def __len__(s):
        return N

    def __getitem__(s, i):
        x = X[i] + 0.3 * torch.randn(D, generator=s.own)
        return x, Y[i]


class Off(Dataset):
    def __len__(s):
        return N

    def __getitem__(s, i):
        x, y = X[i], Y[i]
        if R == W - 1 and W > 1:
            if WHAT == "labels_one_rank":
                y = 1 - y
            if WHAT == "inputs_one_rank":
                x = x * 2 + 1
        return x, y


class Whole(IterableDataset):
    def __iter__(s):
        own = range(N) if WHAT == "stream_whole" else range(R, N, W)
        for i in own:
            yield X[i], Y[i]


data = TensorDataset(X, Y)
if WHAT in ("labels_one_rank", "inputs_one_rank"):
    data = Off()
if WHAT.startswith("noise") and "loop" not in WHAT:
    data = Noisy(torch.Generator().manual_seed(R if WHAT == "noise_own_by_rank" else 0) if "own" in WHAT else None)
if WHAT.startswith("stream"):
    loader, sampler = DataLoader(Whole(), batch_size=48 if WHAT == "stream_whole" else B), None
else:
    sampler = DistributedSampler(data, num_replicas=W, rank=R, seed=1)
    loader = DataLoader(data, batch_size=B, sampler=sampler)
old = net
kw = {"bucket_cap_mb": 0.0001} if WHAT == "tiny_bucket" else {}
if WHAT == "tiny_bucket":
    net = nn.Sequential(nn.Linear(D, 400), *[nn.Sequential(nn.ReLU(), nn.Linear(400, 400)) for _ in range(4)], nn.ReLU(), nn.Linear(400, 2))
model = net if WHAT == "local_sgd" else DDP(net, **kw)
held = list(model.parameters())
if WHAT == "layer_left_out":
    held = list(net[0].parameters())
opt = torch.optim.SGD(held, lr=0.05)
if WHAT == "replaced_model":
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, 2))
    model = DDP(net)
torch.manual_seed(100 + R if WHAT in ("noise_by_rank", "noise_loop_by_rank") or "eval" in WHAT else 100)


def correct(x, y):
    if WHAT in ("labels_loop_one_rank",) and R == W - 1 and W > 1:
        y = 1 - y
    if WHAT in ("inputs_loop_one_rank",) and R == W - 1 and W > 1:
        x = x * 2 + 1
    if WHAT.startswith("noise_loop"):
        x = x + 0.3 * torch.randn_like(x)
    return x, y


def validate():
    model.eval()
    with contextlib.nullcontext() if "grads" in WHAT else torch.no_grad():
        held_out = DataLoader(TensorDataset(XV, YV), batch_size=160 if "one" in WHAT or "next" in WHAT else 40)
        for xv, yv in [next(iter(held_out))] if "next" in WHAT else held_out:
            model(xv.clone() if "copied" in WHAT else xv)
    if "left_on" not in WHAT:
        model.train()


if "first" in WHAT:
    validate()
step = 0
for epoch in range(3):
    if sampler:
        sampler.set_epoch(epoch)
    for x, y in zip(X.split(48), Y.split(48)) if "sliced" in WHAT else loader:
        x, y = correct(x, y)
        if "copied" in WHAT:
            x, y = x.clone(), y.clone()
        if WHAT == "one_batch":
            x, y = next(iter(loader))
        sync = WHAT != "local_sgd_ddp" and not (WHAT == "no_sync_half" and step % 2)
        with contextlib.nullcontext() if sync else model.no_sync():
            if WHAT != "no_zero":
                opt.zero_grad()
            if WHAT == "accumulate_reduced":
                for a, b in zip(x.chunk(4), y.chunk(4)):
                    (cross_entropy(model(a), b) / 4).backward()
            else:
                cross_entropy((net if WHAT == "bypass" else model)(x), y).backward()
        if WHAT == "stops" and step >= 6:
            for g in opt.param_groups:
                g["lr"] = 0.0
        opt.step()
        if WHAT == "local_sgd" and step % 5 == 4 or WHAT == "local_sgd_ddp" and step % 5 == 4:
            for p in net.parameters():
                dist.all_reduce(p.data)
                p.data /= W
        step += 1
        if "body" in WHAT and step % 3 == 0:
            validate()
    if WHAT.startswith("eval") and "first" not in WHAT:
        validate()
print("rank", R, "w", net[0].weight.double().sum().item(), flush=True)
dist.destroy_process_group()
