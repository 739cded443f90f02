"""Do the real frameworks log the step numbers to the tracker that they have?  Skipped where a framework is not installed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fireassay

pytestmark = [pytest.mark.torch, pytest.mark.deep, pytest.mark.filterwarnings("ignore")]
NAME = "assay_provisional/step_time_s"


def test_lightning_s_csv_logger_has_the_step_time(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    import torch
    from lightning.pytorch.loggers import CSVLogger

    class Model(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layer(batch).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    logger = CSVLogger(tmp_path)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False, "accelerator": "cpu"}
    trainer = lightning.Trainer(max_steps=12, log_every_n_steps=4, logger=logger, callbacks=[fireassay.callbacks.lightning()], **quiet)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=4))
    head, *rows = (Path(logger.log_dir) / "metrics.csv").read_text().splitlines()
    place = head.split(",").index(NAME)
    assert [0.0 < float(row.split(",")[place]) < 60.0 for row in rows] == [True] * 3


def test_the_trainer_of_transformers_hands_them_to_its_trackers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    import torch

    seen: list[dict[str, Any]] = []

    class Tracker(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **words: Any) -> None:
            seen.append(json.loads(json.dumps(logs)))

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any) -> dict[str, Any]:
            return {"loss": self.layer(x).pow(2).mean()}

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=8, logging_steps=4, report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True
    )
    rows = [{"x": torch.randn(4)} for _ in range(64)]
    trainer = transformers.Trainer(Model(), arguments, train_dataset=rows, callbacks=[Tracker()])
    assert fireassay.callbacks.trainer(trainer) is trainer
    trainer.train()
    logged = [logs for logs in seen if "loss" in logs]
    assert [NAME in logs for logs in logged] == [True, True]
    assert [logs["assay_provisional/steps"] for logs in logged] == [3, 4]


def test_accelerate_s_own_tracker_gets_them() -> None:
    accelerate = pytest.importorskip("accelerate")
    import torch

    accelerator = fireassay.callbacks.accelerate(accelerate.Accelerator(cpu=True))
    kept: list[dict[str, Any]] = []
    accelerator.trackers = [SimpleNamespace(name="own", log=lambda values, step=None, **_: kept.append(values))]
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(4):
        accelerator.backward(model(torch.randn(2, 4)).pow(2).mean())
        optimizer.step()
    accelerator.log({"loss": 1.0})
    assert kept[0]["assay_provisional/steps"] == 3
    assert kept[0]["loss"] == 1.0
