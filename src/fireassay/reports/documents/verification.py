"""How do other programs read a verification?"""

from __future__ import annotations

from typing import Final

from fireassay.reports.documents.values import Key, Keys, encode, made
from fireassay.reports.pages.verification import Verification

SCHEMA: Final = "assay-verification/1"
DOCUMENT: Final[Keys[Verification]] = (
    Key("schema", "string", f"always `{SCHEMA}`", lambda result: SCHEMA),
    Key("record", "string", "path of the record", lambda result: result.record),
    Key("intact", "boolean", "whether there is no problem", lambda result: result.intact),
    Key("seal", "string or null", "SHA-256 of manifest.json; null: not examined, because of a problem", lambda result: result.seal),
    Key("expected", "boolean or null", "whether the seal is that of `--expect`; null: none given", lambda result: result.expected),
    Key("signed", "boolean or null", "whether there is a signature; null: not examined", lambda result: result.signed),
    Key("signer", "string or null", "name in the file of `--signers`; null: not checked", lambda result: result.signer),
    Key("problems", "list of strings", "each begins with the file's name", lambda result: list(result.problems)),
)


def render(result: Verification) -> str:
    """Render the document as strict JSON."""
    return encode(made(DOCUMENT, result))
