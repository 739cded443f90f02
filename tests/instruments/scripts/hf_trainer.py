"""The Trainer of transformers, with an evaluation in the middle."""

import os

import torch
from transformers import Trainer, TrainingArguments

torch.manual_seed(10)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.inner(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


rows = [{"x": torch.randn(4), "labels": int(torch.randint(0, 2, ()))} for _ in range(48)]
arguments = TrainingArguments(
    output_dir=os.environ["WEIGHTS"] + ".out",
    per_device_train_batch_size=8,
    num_train_epochs=2,
    eval_strategy="epoch",
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    seed=10,
    disable_tqdm=True,
    logging_strategy="no",
)
trainer = Trainer(model=Net(), args=arguments, train_dataset=rows[:32], eval_dataset=rows[32:])
trainer.train()
torch.save(trainer.model.state_dict(), os.environ["WEIGHTS"])
