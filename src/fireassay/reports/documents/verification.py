"""How do other programs read a verification?"""

from __future__ import annotations

from typing import Final

from fireassay.reports.documents.values import Document, Key, Keys
from fireassay.reports.pages.verification import Verification

KEYS: Final[Keys[Verification]] = (
    Key("record", "string", "path of the record"),
    Key("intact", "boolean", "whether there is no problem"),
    Key("seal", "string or null", "SHA-256 of manifest.json; null: not examined, because of a problem"),
    Key("expected", "boolean or null", "whether the seal is that of `--expect`; null: none given"),
    Key("signed", "boolean or null", "whether there is a signature; null: not examined"),
    Key("signer", "string or null", "name in the file of `--signers`; null: not checked"),
    Key("problems", "list of strings", "each begins with the file's name"),
)
DOCUMENT: Final = Document(verb="verify", schema="assay-verification/1", keys=KEYS)
render = DOCUMENT.render
