"""How does a user of a framework say in one line that the training is to be measured?

    from assay.instruments.callbacks.lightning import AssayCallback      # Trainer(callbacks=[AssayCallback()])
    from assay.instruments.callbacks.hf import AssayCallback             # Trainer(callbacks=[AssayCallback()])
    from assay.instruments.callbacks.accelerate import measured          # accelerator = measured(Accelerator())

The line is not needed: `assay run -- train.py` measures the script as it is.  It is for scripts that are started with
`workload.attach = false`, and it tells what hooks cannot see: how long checkpoints take, and what is an evaluation.
The steps are seen by the same hooks as those of an unmodified script (`attach.py`), and not by the framework's own events: those of
the HF Trainer begin a step after its batch was fetched, so that waiting for data would be lost, and Lightning's leave out what
happens between two steps.  Outside of a launch by assay nothing is installed.  Each file imports its framework, and nothing else does.
"""
