"""How does a framework's user enable measurement in one line?

    fireassay.callbacks.lightning()                  # Trainer(callbacks=[fireassay.callbacks.lightning()])
    fireassay.callbacks.trainer(trainer)             # after trainer = Trainer(...) of transformers
    fireassay.callbacks.accelerate(Accelerator())    # accelerator = fireassay.callbacks.accelerate(Accelerator(log_with=...))

The line is optional: `assay run -- train.py` measures the script as it is. It serves scripts started with `workload.attach = false`, and
reports what hooks cannot see: the time of checkpoints, and which passes are evaluations. Steps are still found by the hooks of an
unmodified script (`attach.py`), not by the framework's events: the HF Trainer's begin a step after its batch was fetched, so waiting
for data would be lost, and Lightning's leave out the time between two steps. Everywhere the tracker that the training has gets provisional
step numbers (`step_numbers`). Outside a launch nothing is put into torch. Only these files
import their framework.
"""
