"""Which collectives are timed, at which sizes, and how?

The section [collectives] and what follows from it.  A size is defined as in nccl-tests (-b, -e, -f): for gathers, scatters and
exchanges the bytes S of the whole result or input of all ranks, else those of one rank's tensor (`fireassay.frames.links.network_probe`).
1K is 1024 bytes, as there.  The number of elements is rounded down to the same number per rank; the record holds the bytes
actually sent.  A *cell* is one operation at one size and one placement of its result on a number of workers, like a line of
nccl-tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Model, Words, flag, listed

# operations whose size counts all ranks
WHOLE: Final = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
Operation = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "broadcast", "reduce", "send_recv"]
OPERATIONS: Final[tuple[str, ...]] = get_args(Operation)
# whether torch.distributed works in place: always, never, or on request
PLACEMENTS: Final = {
    "all_reduce": ("in",),
    "broadcast": ("in",),
    "reduce": ("in",),
    "all_gather": ("out", "in"),
    "reduce_scatter": ("out", "in"),
    "all_to_all": ("out",),
    "gather": ("out",),
    "scatter": ("out",),
    "send_recv": ("out",),
}
# bytes per element, and the limit up to which integers (sums over ranks) are exact
DTYPES: Final = {
    "float32": (4, 2**24),
    "float64": (8, 2**53),
    "float16": (2, 2**11),
    "bfloat16": (2, 2**8),
    "int64": (8, 2**62),
    "int32": (4, 2**31 - 1),
    "int8": (1, 127),
    "uint8": (1, 254),
}
# bytes of types found only in results of other programs: assay cannot check data in them, so it does not time them
IMPORTED: Final = {"uint32": 4, "uint64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1}
MIN_SPAN: Final = 2  # least distinct values per rank
UNITS: Final = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
MAX_SIZE: Final = 2**36
MIN_MATRIX: Final = 2**10  # least bytes of a pairwise message that show a bandwidth
MAX_SIZES: Final = 100

Place = Literal["in", "out"]


def one_size(text: str) -> int:
    """Bytes of "1K", "64KiB", "16M", "1000". ValueError lists the allowed forms."""
    match = re.fullmatch(r"\s*([0-9]+)\s*([BKMG]?)(?:iB|B)?\s*", text, re.IGNORECASE)
    size = int(match[1]) * UNITS[match[2].upper()] if match is not None else 0
    if not 1 <= size <= MAX_SIZE:
        raise ValueError("a size such as 1K, 16M or 1000 (bytes; 1K is 1024), at most 64G")
    return size


def sizes_of(text: str, factor: int) -> tuple[int, ...]:
    """The sizes of "1K" or "1K:16M", the range in steps of `factor`. ValueError lists the allowed forms."""
    low, colon, high = text.partition(":")
    if not colon:
        return (one_size(low),)
    first, last = one_size(low), one_size(high)
    if last < first:
        raise ValueError("a range from the smaller to the larger size, as in 1K:16M")
    sizes = [first]
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
    return tuple(sizes)


def _operations(text: str) -> list[str]:
    return list(OPERATIONS) if text == "all" else [part.strip() for part in text.split(",") if part.strip()]


class Collectives(Model):
    """The collectives to time. Only for workload.runner = "collectives"."""

    operations: Annotated[
        tuple[Operation, ...],
        BeforeValidator(listed),
        flag("--ops", "A,B", 'operations, or "all" nine ({default})', read=_operations, comm=20),
    ] = Field(("all_reduce",), min_length=1, description=f"Operations: {', '.join(OPERATIONS)}.")
    sizes: Annotated[
        Words, flag("--sizes", "1K:256M", "sizes in bytes as nccl-tests counts them, or a range; 1K is 1024 ({default})", comm=30)
    ] = Field(
        ("1K:16M",), min_length=1, description='Sizes in bytes as nccl-tests counts them: "1K", "16M", or a range "1K:16M". 1K is 1024.'
    )
    factor: Annotated[int, flag("--factor", "N", "factor between the sizes of a range ({default})", comm=40)] = Field(
        4, ge=2, le=1024, description="Factor between consecutive sizes of a range."
    )
    dtype: Annotated[
        Literal[
            "float32",
            "float64",
            "float16",
            "bfloat16",
            "int64",
            "int32",
            "int8",
            "uint8",
            "uint32",
            "uint64",
            "float8_e4m3fn",
            "float8_e5m2",
        ],
        flag("--dtype", "TYPE", "float32, float64, float16, bfloat16, int64, int32, int8, uint8 ({default})", comm=50),
    ] = Field("float32", description=f"Element type. {', '.join(IMPORTED)}: only in imported results.")
    backend: Annotated[
        Literal["gloo", "nccl", "mpi", "auto"],
        flag("--backend", "NAME", "gloo, nccl, mpi, or auto: nccl if every rank has a GPU ({default})", comm=60),
    ] = Field("gloo", description="The backend of torch.distributed. auto: nccl if every rank has a GPU, else gloo.")
    placement: Annotated[
        Literal["both", "in", "out"],
        flag("--placement", "WHERE", "result in place (in), in another buffer (out), or both ({default})", comm=70),
    ] = Field(
        "both", description="Placement of the result: in place of the input, in another buffer, or both if torch.distributed allows both."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "warm-up calls before the timed ones, never counted ({default})", comm=80)] = Field(
        5, ge=1, le=10_000, description="Warm-up calls before the timed ones, for each operation and size. Recorded, never counted."
    )
    seconds: Annotated[float, flag("--seconds", "S", "how long the timed calls of a size last in a launch ({default:g})", comm=90)] = Field(
        0.2, gt=0.0, le=3600.0, description="How long the timed calls of one operation and size should last in a launch."
    )
    batches: int = Field(
        5,
        ge=1,
        le=1000,
        description="Minimum number of loops of back-to-back calls into which they are divided; all ranks begin each loop together.",
    )
    calls: Annotated[int, flag("--calls", "N", "most calls back to back after a barrier ({default})", comm=100)] = Field(
        100, ge=1, le=10_000, description="Maximum number of calls in a loop."
    )
    memory_mib: Annotated[float, flag("--memory", "MIB", "memory per rank that calls rotate through ({default:g})", comm=110)] = Field(
        64.0,
        gt=0.0,
        le=1_048_576.0,
        description="Memory per rank through which the calls of a loop rotate, as in nccl-tests, so that each call uses different data.",
    )
    root: Annotated[int, flag("--root-rank", "RANK", "rank that broadcasts, gathers, scatters and reduces ({default})", comm=120)] = Field(
        0, ge=0, le=100_000, description="The rank that broadcasts, gathers, scatters and reduces."
    )
    group_size: Annotated[int, flag("--group-size", "N", "ranks per group; groups run at the same time (all ranks)", comm=130)] = Field(
        0,
        ge=0,
        le=100_000,
        description="Consecutive ranks per group; the calls of all groups run at the same time, as with the split of nccl-tests. 0: "
        "all ranks are one group.",
    )
    matrix: Annotated[
        str,
        flag(
            "--matrix",
            "SIZE",
            "also time messages between every ordered pair of ranks, the larger ones of this size (4M): latency, bandwidth, topology",
            bare="4M",
            comm=260,
        ),
    ] = Field(
        "",
        description='Size of the larger messages between every ordered pair of ranks, as "4M": latency and bandwidth of each link, '
        "and which ranks are close to each other. Empty: pairs are not measured.",
    )

    @property
    def every_size(self) -> tuple[int, ...]:
        """All distinct sizes, ascending."""
        return tuple(sorted({size for text in self.sizes for size in sizes_of(text, self.factor)}))

    @property
    def element_size(self) -> int:
        """Bytes per element."""
        return IMPORTED[self.dtype] if self.dtype in IMPORTED else DTYPES[self.dtype][0]

    @property
    def matrix_size(self) -> int:
        """Bytes of the larger pairwise messages; 0 if pairs are not measured."""
        return one_size(self.matrix) if self.matrix else 0

    def ranks(self, workers: int) -> int:
        """Ranks per group with this many workers."""
        return self.group_size or workers

    def places(self, op: str) -> tuple[Place, ...]:
        """The requested placements of an operation that torch.distributed supports."""
        requested = ("out", "in") if self.placement == "both" else (self.placement,)
        return tuple(place for place in requested if place in PLACEMENTS[op])  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One operation at one size and placement on a number of workers."""

    op: str
    size: int  # as requested
    place: Place
    workers: int
    ranks: int  # per group
    count: int  # elements per rank
    nbytes: int  # actually sent, as nccl-tests counts

    @property
    def name(self) -> str:
        """As in results and JSON."""
        return f"{self.group} bytes={self.size}"

    @property
    def group(self) -> str:
        """The common name of all sizes."""
        return group_name(self.workers, self.op, self.place)


def group_name(workers: int, op: str, place: str) -> str:
    """The name of an operation with its placement and number of workers."""
    return f"workers={workers} op={op} place={place}"


def count_of(op: str, ranks: int, size: int, element_size: int) -> int:
    """Elements per rank for a size, at least one."""
    return max(1, size // element_size // (ranks if op in WHOLE else 1))


def cell(op: str, size: int, place: Place, workers: int, element_size: int, group_size: int = 0) -> Cell:
    """A cell with its counts; `group_size` 0: all workers are one group."""
    ranks = group_size or workers
    count = count_of(op, ranks, size, element_size)
    nbytes = count * element_size * (ranks if op in WHOLE else 1)
    return Cell(op=op, size=size, place=place, workers=workers, ranks=ranks, count=count, nbytes=nbytes)


def cells(asked: Collectives, workers: int) -> Iterator[Cell]:
    """Every cell of a worker count, by operation, placement and size."""
    for op in asked.operations:
        for place in asked.places(op):
            for size in asked.every_size:
                yield cell(op, size, place, workers, asked.element_size, asked.group_size)


SWEEP: Final = Collectives(sizes=("1K:16M",), placement="in", backend="auto", seconds=0.1)  # next to a training
