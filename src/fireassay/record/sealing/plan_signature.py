"""Which experiments are the same, whatever the names of their records?"""

from __future__ import annotations

import hashlib
import json

from fireassay.record.secrets.redact import redact_environment
from fireassay.spec.experiment import Experiment


def plan_signature(experiment: Experiment) -> str:
    """Identifies an experiment regardless of its name and secrets: 16 hexadecimal digits."""
    content = experiment.model_dump(mode="json", by_alias=True, exclude={"name"})
    content["workload"]["environment"] = redact_environment(content["workload"]["environment"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
