"""How does a framework's user enable measurement in one line?

    from fireassay.instruments.callbacks.lightning import AssayCallback      # Trainer(callbacks=[AssayCallback()])
    from fireassay.instruments.callbacks.hf import AssayCallback             # Trainer(callbacks=[AssayCallback()])
    from fireassay.instruments.callbacks.accelerate import measured          # accelerator = measured(Accelerator())

The line is optional: `assay run -- train.py` measures the script as it is. It serves scripts started with `workload.attach = false`, and
reports what hooks cannot see: the time of checkpoints, and which passes are evaluations. Steps are still found by the hooks of an
unmodified script (`attach.py`), not by the framework's events: the HF Trainer's begin a step after its batch was fetched, so waiting
for data would be lost, and Lightning's leave out the time between two steps. Outside a launch nothing is installed. Only these files
import their framework.
"""
