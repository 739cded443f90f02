"""Is one training the same on every launcher?  The digits example and a script that knows nothing of assay, on 1 and 2 workers.

    python benchmarks/launchers.py                          local, plain, and the engines whose commands are here
    SLURM_CONF=... python benchmarks/launchers.py slurm     a cluster of your own
    KUBECONFIG=... IMAGE=... python benchmarks/launchers.py kubernetes
    python benchmarks/launchers.py --emulated               all, on clusters of two nodes that are made on this machine: a real Slurm and Ray,
                                                            a fake Kubernetes API whose pods are processes

A launch is the same if every step used the same samples (the ledger, by digest) and the score is equal to the last digit.  Two nodes are
two supervisors on this machine with one processor's work each: times say what the engine costs, not what a cluster gives.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fireassay
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/digits/train.py"
UNMODIFIED = """
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
ranks = dist.get_world_size()
torch.manual_seed(int(os.environ["SEED"]))
x = torch.randn(2048, 64)
data = TensorDataset(x, (x[:, :10].sum(1) > 0).long())
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
sampler = DistributedSampler(data, seed=3)
for epoch in range(4):
    sampler.set_epoch(epoch)
    for features, labels in DataLoader(data, batch_size=128 // ranks, sampler=sampler):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
with torch.no_grad():
    print(f"accuracy: {(model(x).argmax(1) == data.tensors[1]).float().mean():.6f}", flush=True)
dist.destroy_process_group()
"""


def nodes_of(kind: str) -> dict[str, Any]:
    """The section [launcher] of two nodes with a worker each."""
    hosts = [{"name": name, "address": "127.0.0.1", "prefix": ["env"]} for name in ("n1", "n2")]
    image = {"kubernetes": {"image": os.environ.get("IMAGE", "lab/train:3")}, "workers_per_node": 1}
    return {"kind": kind, **({"hosts": hosts, "workers_per_node": 1} if kind == "nodes" else image if kind == "kubernetes" else {})}


def experiment(kind: str, script: str, launches: int) -> Any:
    """The same experiment but for its launcher."""
    arguments = {"arguments": ["--seed", "{seed}", "--epochs", "2"], "work": "samples"} if script == EXAMPLE.name else {}
    return from_mapping(
        {
            "name": f"launchers-{kind}",
            "workload": {"script": script, **arguments, "environment": {"SEED": "{seed}"}},
            "factor": {"name": "workers", "levels": [1, 2]},
            "launches": {"per_configuration": launches, "seed": 7},
            "quality": {"metric": "accuracy", "direction": "higher", "margin": 0.02},
            "gates": {"efficiency": "none"},
            "launcher": {"threads_per_worker": 1, **nodes_of(kind)},
            "limits": {"launch_timeout_s": 300, "experiment_timeout_s": 3000},
        }
    )


def ledgers(record: Any) -> dict[tuple[int, int], str]:
    """(workers, seed) -> digest of which samples each step used."""
    found = {}
    for launch in ended(record):
        steps: dict[tuple[int, int], list[int]] = {}
        rows = record.table("samples").filter(launch=launch["launch"]).sort("epoch", "step", "rank", maintain_order=True)
        for row in rows.iter_rows(named=True):
            steps.setdefault((row["epoch"], row["step"]), []).extend(row["ids"])
        text = ";".join(f"{at}:{sorted(ids)}" for at, ids in steps.items())
        found[launch["workers"], launch["seed"]] = hashlib.sha256(text.encode()).hexdigest()[:12] if steps else ""
    return found


def losses(record: Any) -> dict[tuple[int, int], float]:
    """(workers, seed) -> mean loss of the ranks in the last step."""
    found = {}
    for launch in ended(record):
        rows = record.table("fingerprints").filter(launch=launch["launch"], what="loss")
        last = rows.filter(rows["step"] == rows["step"].max())
        found[launch["workers"], launch["seed"]] = float(last["value"].sum() / max(1, last.height))
    return found


def ended(record: Any) -> list[dict[str, Any]]:
    """The finished launches."""
    return list(record.table("launches").filter(status="ok").to_dicts())


def row_of(kind: str, record: Any, first: tuple[dict[Any, Any], dict[Any, Any]], seconds: float) -> str:
    """A line of the table. `first`: ledgers and losses of the first launcher."""
    judged, samples, loss = record.judge(), ledgers(record), losses(record)
    same = sum(bool(digest) and first[0].get(at) == digest for at, digest in samples.items())
    equal = sum(first[1].get(at) == value for at, value in loss.items())
    speedup = record.metric("speedup", workers=2)
    return f"| {kind} | {same} of {len(samples)} | {equal} of {len(loss)} | {speedup} | {judged.status} | {seconds:.0f} s |"


@contextmanager
def emulated(folder: Path) -> Iterator[list[str]]:
    """Clusters of two nodes; the launchers that can be tried with them."""
    from tests.launchers import kubernetes_cluster, slurm_commands, test_ray

    found = here([])
    with ExitStack() as stack:
        if why := slurm_commands.why_not():
            print(f"slurm: {why}", file=sys.stderr)
        else:
            os.environ["SLURM_CONF"] = str(stack.enter_context(slurm_commands.two_nodes(folder / "slurm")))
            found.append("slurm")
        if test_ray.WHY_NOT:
            print(f"ray: {test_ray.WHY_NOT}", file=sys.stderr)
        else:
            os.environ["RAY_ADDRESS"] = stack.enter_context(contextmanager(test_ray.two_nodes)()).address
            found.append("ray")
        if why := kubernetes_cluster.why_not():
            print(f"kubernetes: {why}", file=sys.stderr)
        else:
            os.environ["KUBECONFIG"] = str(stack.enter_context(kubernetes_cluster.cluster(folder / "kubernetes")).kubeconfig)
            found.append("kubernetes")
        yield found


def here(asked: list[str]) -> list[str]:
    """The launchers whose engines this machine has; the first one is what the others are held against."""
    commands = {"mpi": "mpirun", "slurm": "salloc"}
    known = ["local", "plain", "nodes", "mpi", "slurm", "ray", "kubernetes"]
    found = [kind for kind in known if kind not in commands or shutil.which(commands[kind])]
    missing = [kind for kind in asked if kind not in known]
    if missing:
        raise SystemExit(f"no such launcher: {', '.join(missing)}; known are {', '.join(known)}")
    return (
        ["local", *(kind for kind in asked if kind != "local")]
        if asked
        else [kind for kind in found if kind not in ("slurm", "ray", "kubernetes")]
    )


def main() -> int:
    """Measure and print the tables; 1 if a ledger differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launchers", nargs="*", help="default: those that need no cluster")
    parser.add_argument("--launches", type=int, default=3, help="of each worker count (3)")
    parser.add_argument("--root", type=Path, help="keep the records here")
    parser.add_argument("--emulated", action="store_true", help="make the clusters of all launchers")
    arguments = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}\n")
    differing = 0
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        shutil.copytree(EXAMPLE.parent, folder, dirs_exist_ok=True)
        (folder / "unmodified.py").write_text(UNMODIFIED)
        kinds = here(arguments.launchers) if not arguments.emulated else stack.enter_context(emulated(folder))
        for script in (EXAMPLE.name, "unmodified.py"):
            print(f"{script}\n\n| launcher | same ledgers | same last losses | speedup | verdict | whole run |\n|---|---|---|---|---|---|")
            first: tuple[dict[Any, Any], dict[Any, Any]] | None = None
            for kind in kinds:
                begin = time.monotonic()
                path = run(experiment(kind, script, arguments.launches), folder=folder, root=arguments.root or folder / "records")
                record = fireassay.open(path)
                first = first or (ledgers(record), losses(record))
                differing += ledgers(record) != first[0]
                print(row_of(kind, record, first, time.monotonic() - begin), flush=True)
            print()
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
