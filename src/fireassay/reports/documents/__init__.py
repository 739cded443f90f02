"""What do other programs read?

One JSON document for each subject that has a page.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from fireassay.errors import refuse

if TYPE_CHECKING:
    from fireassay.reports.documents.json_object import Document


def documents() -> dict[str, type[Document]]:
    """Every declared document by the verb that prints it."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    declared = [module.DOCUMENT for module in modules if hasattr(module, "DOCUMENT")]
    return {document.VERB: document for document in sorted(declared, key=lambda document: document.VERB)}


def document(verb: str) -> type[Document]:
    """The document that `assay VERB --json` prints.

    Raises:
        SpecError: the verb has no declared document.
    """
    declared = documents()
    if verb not in declared:
        raise refuse("--document", repr(verb), f"a verb whose JSON has a schema: {', '.join(declared)}", source="the command line")
    return declared[verb]
