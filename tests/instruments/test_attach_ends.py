"""However a script ends, and however it was started: what it did until then is recorded. With the real sitecustomize, and files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fireassay.instruments import injected
from tests.limits import PROCESS_S

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]

TRAINING = """
import os, sys, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for number, (x, y) in enumerate(DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if number == 4:
        {ending}
"""
ENDINGS = {
    "crashed": ('raise RuntimeError("spoiled")', 1, "RuntimeError"),
    "ended at once": ("os._exit(7)", 7, "os._exit(7)"),
    "a package that asks to exit": ("sys.exit(3)", 3, None),
}


@dataclass(frozen=True)
class Ended:
    """What is left of a script."""

    status: int
    folder: Path

    def of(self, table: str) -> list[dict[str, Any]]:
        (file,) = self.folder.glob(f"{table}.*.arrows")
        return list(pa.ipc.open_stream(file.read_bytes()).read_all().to_pylist())


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Every one of them, side by side."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("FIREASSAY_")}
    started = {}
    for name, (ending, _, _) in ENDINGS.items():
        place = tmp_path_factory.mktemp("ended")
        folder = place / "launch=0"
        (folder / "progress").mkdir(parents=True)
        (place / "trained").mkdir()
        (place / "trained" / "__main__.py").write_text(TRAINING.format(ending=ending))
        script = ["-m", "trained"] if "package" in name else [str(place / "trained" / "__main__.py")]
        variables = {"RANK": "0", "WORLD_SIZE": "1", "FIREASSAY_LAUNCH": "0", "FIREASSAY_LAUNCH_DIR": str(folder), "OMP_NUM_THREADS": "1"}
        started[name] = (
            folder,
            subprocess.Popen([sys.executable, *script], cwd=place, env=injected.into({**own, **variables}), stderr=subprocess.DEVNULL),
        )
    return {name: Ended(process.wait(timeout=PROCESS_S), folder) for name, (folder, process) in started.items()}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_step_of_a_script_is_recorded_however_it_ends(ended: dict[str, Ended], name: str) -> None:
    """Five steps, with an end that says why; the script's own status stays what it was."""
    _, status, error = ENDINGS[name]
    found = ended[name]
    assert found.status == status
    assert [row["step"] for row in found.of("steps")] == [0, 1, 2, 3, 4]
    (last,) = [row for row in found.of("events") if row["kind"] == "worker_end"]
    assert (last["step"], error is None or error in last["detail"]) == (5, True)
