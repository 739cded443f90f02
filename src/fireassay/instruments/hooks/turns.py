"""Where does a step of a script without marks end?

Decided while the script runs, since hashes, watched steps and the limit depend on it. Three things end a step:
* a batch is requested after an optimizer has stepped (any DataLoader; gradient accumulation requests several before);
* without a loader, the first forward pass after all optimizers of the cycle have stepped. The cycle is the only optimizer, or those
  that stepped before one of them came again or before the next batch, or all that exist;
* the end of the process.
Without a loader, a pass without gradients begins the next step as a forward pass does; those before the first step are outside it.

Optimizers that alternate form one step if each steps once (a GAN), and one step each if one goes on alone (layers trained one after the
other, a critic before its actor). So at the first pass after an optimizer's step, the step may have ended: it has if an optimizer that
has stepped steps again, and not if another steps or a batch is requested.

Cannot tell: where ranks communicate, or on a GPU, whose times come later: there such a beginning stays in the previous step.
"""

from __future__ import annotations

from enum import Enum


class Pass(Enum):
    """What a pass means for the current step."""

    INSIDE = 0
    BEGINS = 1  # it begins the next one
    MAY_BEGIN = 2


class Turns:
    """The optimizers that have stepped in the current step, and the cycle in which they do."""

    def __init__(self) -> None:
        self.stepped: dict[int, None] = {}  # optimizers, since the step began
        self.stepping: list[int] = []  # optimizers that are stepping now, nested
        self.known: set[int] = set()  # optimizers that exist
        self._cycle: frozenset[int] | None = None
        self.may_have_ended: int | None = None  # when

    def made(self, optimizer: int) -> None:
        """A new optimizer."""
        self.known.add(optimizer)
        self._cycle = frozenset(self.known) if len(self.known) == 1 else None

    def cycled(self) -> bool:
        """True if every optimizer of the cycle has stepped; of all, until one steps again before another."""
        stepped = self.stepped
        if not stepped:
            return False
        if self._cycle is None and self.known and self.known <= stepped.keys():
            self._cycle = frozenset(self.known)
        return self._cycle is not None and self._cycle <= stepped.keys()

    def passes(self) -> Pass:
        """A pass begins."""
        if self.cycled():
            return Pass.BEGINS
        return Pass.MAY_BEGIN if self.stepped and self.may_have_ended is None and not self.stepping else Pass.INSIDE

    def requests(self) -> None:
        """A batch is requested after an optimizer has stepped: the step ends."""
        if self._cycle is None:
            self._cycle = frozenset(self.stepped)

    def nests(self, optimizer: int) -> None:
        """An optimizer steps in another's step, as a part of that."""
        if self.stepping[0] != optimizer:
            self.known.discard(optimizer)
            self._cycle = self._cycle or (frozenset(self.known) if len(self.known) == 1 else None)

    def comes_again(self) -> None:
        """An optimizer steps again in the current step: from now on it steps without the others."""
        if not self.cycled():
            self._cycle = frozenset(self.stepped)
