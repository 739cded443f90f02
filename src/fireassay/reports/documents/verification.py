"""How do other programs read a verification?"""

from __future__ import annotations

from fireassay.reports.documents.json_object import Document, key


class VerificationDocument(Document):  # of `Verification`
    VERB = "verify"
    VERSION = "assay-verification/1"

    record: str = key("path of the record")
    intact: bool = key("whether there is no problem")
    seal: str | None = key("SHA-256 of manifest.json; null: not examined, because of a problem")
    expected: bool | None = key("whether the seal is that of `--expect`; null: none given")
    signed: bool | None = key("whether there is a signature; null: not examined")
    signer: str | None = key("name in the file of `--signers`; null: not checked")
    problems: list[str] = key("each begins with the file's name")


DOCUMENT = VerificationDocument
render = DOCUMENT.render
