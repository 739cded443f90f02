"""Is a record unchanged, the expected one and without secrets, and who vouches for it?"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.errors import RecordError, refuse
from fireassay.record.lookup import resolve
from fireassay.record.reader import open_record
from fireassay.record.seal import is_signed, sign, signer, verify
from fireassay.record.secrets.batches import leaks
from fireassay.reports.pages.verification import Verification

if TYPE_CHECKING:
    from fireassay.api.sides import Watch

DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)


def verified(
    record: str, root: Path = Path("records"), *, expected: str | None = None, signers: Path | None = None, watch: Watch | None = None
) -> Verification:
    """Every byte of a record against its seal, the seal against the expected SHA-256, and its signature against the allowed signers.

    Raises:
        SpecError: `expected` is no SHA-256.
        RecordError: no record has this name.
    """
    digest, path = _digest(expected), resolve(record, root)
    watch = watch or (lambda _what: nullcontext())
    with watch("checking") as advance:
        problems = verify(path, advance)
    with watch("searching for secrets") as advance:
        result = Verification(record=str(path), problems=(*problems, *leaks(path, advance)))
    return _with_origin(result, path, digest, signers) if result.intact else result


def signed(record: str, key: Path, root: Path = Path("records")) -> tuple[Path, str]:
    """Sign a record's seal with an ssh key: the signature's file, and the seal.

    Raises:
        RecordError: the record is not as it was sealed, or the key cannot be used.
    """
    from fireassay.api.sides import whole  # deferred: to verify needs no judge, which takes longer to load

    opened = whole(resolve(record, root))  # a changed record must not be signed
    return sign(opened.path, key.expanduser()), str(opened.seal)


def _digest(text: str | None) -> str:
    """The expected digest; "" if none is given. Raises SpecError: the text is not a SHA-256."""
    if text is None:
        return ""
    match = DIGEST.fullmatch(text.strip())
    if match is None:
        allowed = "64 hexadecimal digits, the SHA-256 that a report of the record shows"
        raise refuse("--expect", repr(text), allowed, source="the command line")
    return match[1].lower()


def _with_origin(result: Verification, path: Path, expected: str, signers: Path | None) -> Verification:
    """The result for an intact record, with its seal and signature checked against the given seal and signers."""
    seal = open_record(path).seal
    result = replace(result, seal=seal, expected=seal == expected if expected else None, signed=is_signed(path))
    if result.expected is False:
        return replace(result, problems=(f"SEAL: the seal is {seal}, not the expected {expected}: this is another record.",))
    if signers is None:
        return result
    try:
        return replace(result, signer=signer(path, signers.expanduser()))
    except RecordError as error:
        return replace(result, problems=(str(error),))
