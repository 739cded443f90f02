"""What do all parts of an experiment share?

Frozen models that reject unknown keys, and common value types.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_S = 1e8  # three years; longer waits overflow the operating system's timers
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def listed(value: object) -> object:
    """Lists (TOML) to tuples (frozen models)."""
    return tuple(value) if isinstance(value, list) else value


Words = Annotated[tuple[str, ...], BeforeValidator(listed)]
Positive = Annotated[float, Field(gt=0.0)]
Seconds = Annotated[float, Field(ge=0.0, le=MAX_S)]
PositiveSeconds = Annotated[float, Field(gt=0.0, le=MAX_S)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]  # never all
WorkerCount = Annotated[int, Field(ge=1, le=100_000)]
WorkerCounts = Annotated[tuple[WorkerCount, ...], BeforeValidator(listed)]


class Model(BaseModel):
    """A frozen part of the experiment that knows all of its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def complete(cls) -> type[Self]:
        """The same model with the keys that plug-ins add."""
        return cls
