"""Which of gitleaks' rules does `fireassay.record.secrets.shapes` use?  Writes src/fireassay/record/secrets/rules.json from its configuration.

    git clone --depth 1 --branch v8.30.1 https://github.com/gitleaks/gitleaks /tmp/gitleaks
    python tools/secret_rules.py /tmp/gitleaks v8.30.1

Kept: keys that say themselves what they are, by a prefix of at least three characters.  Left out, because redaction would destroy
measurements: rules that need a file's name, rules that only know a vendor's name somewhere before, and every rule that
takes a hash, a UUID or a number for a secret (`HARMLESS`); such keys are recognised by their variable's name and by value.
Changed: the terminator that gitleaks demands behind a key becomes "no letter or digit follows", and Go's syntax Python's.
"""

from __future__ import annotations

import hashlib
import json
import re
import re._constants as codes
import re._parser as parser
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "src" / "fireassay" / "record" / "secrets" / "rules.json"
SOURCE = "https://github.com/gitleaks/gitleaks/blob/{version}/config/gitleaks.toml"
MIN_HEAD_LENGTH = 3
SKIPPED = {
    "private-key",
    "curl-auth-header",
    "curl-auth-user",
    "microsoft-teams-webhook",
    "sidekiq-sensitive-url",  # CREDENTIALS has them
    "flutterwave-public-key",  # no secret
    "huggingface-access-token",
    "huggingface-organization-api-token",  # letters only, as in a long name of a function: see PREFIXED
}
TERMINATOR = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
MAX_HEAD_LENGTH = 5  # a longer beginning only makes the search for it slower
LONG = hashlib.sha512(b"x").hexdigest()
HARMLESS = (
    *(LONG[:size] for size in range(7, 128)),
    *(LONG[:size].upper() for size in (16, 32, 40, 64)),
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    *("12345678901234567890"[:size] for size in range(6, 21)),
)


def python_syntax(regex: str) -> str:
    """A Go regular expression as Python has it: flags in the middle hold until the end of their group."""
    regex = regex.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z").replace(TERMINATOR, "(?![A-Za-z0-9])")
    while found := re.search(r"(?<!^)\(\?(-?i)\)", regex):
        end = _end_of_group(regex, found.end())
        regex = f"{regex[: found.start()]}(?{found[1]}:{regex[found.end() : end]}){regex[end:]}"
    return regex


def _end_of_group(regex: str, at: int) -> int:
    depth = 0
    pieces = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
    for piece in pieces.finditer(regex, at):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth < 0:
            return piece.start()
    return len(regex)


def heads(tokens: Any) -> list[str]:
    """The literal beginnings of everything that matches; "" where one begins with anything else."""
    found = [""]
    for place, (code, value) in enumerate(tokens):
        if code is codes.AT:
            continue
        if code is codes.LITERAL:
            found = [head + chr(value) for head in found]
        elif code is codes.SUBPATTERN:
            return [head + inner for head in found for inner in heads([*value[3], *tokens[place + 1 :]])]
        elif code is codes.BRANCH:
            rest = tokens[place + 1 :]
            return [head + inner for head in found for branch in value[1] for inner in heads([*branch, *rest])]
        else:
            return found
    return found


def rule(given: dict[str, Any]) -> dict[str, Any] | None:
    """A rule as it is used; None for one that is left out."""
    if "regex" not in given or "path" in given or given["id"] in SKIPPED:
        return None
    regex = python_syntax(given["regex"])
    compiled = re.compile(regex)
    begins = sorted({head.lower() for head in heads(parser.parse(regex))})
    if any(not head for head in begins) or any(_takes(compiled, head) for head in given["keywords"]):
        return None
    if not (long := sorted({head[:MAX_HEAD_LENGTH] for head in begins if len(head) >= MIN_HEAD_LENGTH})):
        return None
    made = {"id": given["id"], "heads": long, "regex": regex}
    return made | {name: given[name] for name in ("entropy",) if name in given}


def _takes(compiled: re.Pattern[str], keyword: str) -> bool:
    """Whether it takes something harmless for a secret, beside its keyword."""
    texts = ("{k} = '{h}' ", "{k}_x: {h}\n", " {h} ", "{k}={h} ")
    for harmless in HARMLESS:
        for text in texts:
            found = compiled.search(text.format(k=keyword, h=harmless))
            if found is not None and harmless in (found[1] if compiled.groups else found[0]):
                return True
    return False


def _sources(folder: Path, version: str) -> Iterator[tuple[str, Any]]:
    rules = tomllib.loads((folder / "config" / "gitleaks.toml").read_text(encoding="utf-8"))["rules"]
    yield "source", SOURCE.format(version=version)
    yield "made_by", "tools/secret_rules.py"
    yield "licence", (folder / "LICENSE").read_text(encoding="utf-8")
    yield "rules", [made for given in rules if (made := rule(given)) is not None]


def main(folder: str, version: str) -> None:
    """Write the file."""
    made = dict(_sources(Path(folder), version))
    rules = ",\n".join(json.dumps(one) for one in made.pop("rules"))
    head = json.dumps(made, indent=0).removesuffix("\n}")
    TARGET.write_text(f'{head},\n"rules": [\n{rules}\n]}}\n', encoding="utf-8")
    print(f"{rules.count(chr(10)) + 1} rules")


if __name__ == "__main__":
    main(*sys.argv[1:])
