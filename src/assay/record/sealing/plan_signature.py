"""Which experiments are the same, however their records are called?"""

from __future__ import annotations

import hashlib
import json

from assay.record.secrets.redact import redact_environment
from assay.spec.experiment import Experiment


def plan_signature(experiment: Experiment) -> str:
    """Names what is run: equal for equal experiments, the name and secrets left out. 16 hex digits."""
    content = experiment.model_dump(mode="json", by_alias=True, exclude={"name"})
    content["workload"]["environment"] = redact_environment(content["workload"]["environment"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
