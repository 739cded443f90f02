"""`assay sign` and `assay verify --signers`: whose record is it?"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.record.seal import verify
from tests.record.making import sealed, unfinished

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of two people, and a file that knows the first."""
    folder = tmp_path_factory.mktemp("keys")
    for who in ("ann", "bob"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / who], check=True)
    (folder / "known").write_text(f"ann@example.org {(folder / 'ann.pub').read_text()}")
    return folder


def test_a_signed_record_is_intact_and_says_whose_it_is(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    assert main(["sign", str(path), "--key", str(keys / "ann")]) == 0
    assert verify(path) == ()  # the signature is no part of what is sealed
    assert main(["verify", str(path)]) == 0
    assert "signed; --signers FILE checks by whom" in capsys.readouterr().out
    assert main(["verify", str(path), "--signers", str(keys / "known")]) == 0
    assert "signed by ann@example.org" in capsys.readouterr().out


def test_ssh_keygen_itself_takes_the_signature(tmp_path: Path, keys: Path) -> None:
    path = sealed(tmp_path)
    main(["sign", str(path), "--key", str(keys / "ann")])
    words = ["-Y", "verify", "-f", keys / "known", "-I", "ann@example.org", "-n", "assay-seal", "-s", path / "SEAL.sig"]
    subprocess.run(["ssh-keygen", *words], input=(path / "SEAL").read_bytes(), check=True, capture_output=True)


def test_the_key_of_a_stranger_is_no_known_signers(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    assert main(["sign", str(path), "--key", str(keys / "bob")]) == 0
    assert main(["verify", str(path), "--signers", str(keys / "known")]) == 6
    assert "by a signer that is not in" in " ".join(capsys.readouterr().out.split())


def test_a_signature_of_another_seal_is_none_of_this_one(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = sealed(tmp_path / "a"), sealed(tmp_path / "b")
    main(["sign", str(other), "--key", str(keys / "ann")])
    shutil.copy(other / "SEAL.sig", path / "SEAL.sig")
    assert main(["verify", str(path), "--signers", str(keys / "known")]) == 6
    assert "does not match its seal" in capsys.readouterr().out


def test_an_unsigned_record_is_not_taken_where_a_signer_is_asked_for(
    tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(sealed(tmp_path)), "--signers", str(keys / "known")]) == 6
    assert "is not signed" in " ".join(capsys.readouterr().out.split())


def test_nothing_is_signed_that_is_not_whole(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_one, changed = unfinished(tmp_path / "a").path, sealed(tmp_path / "b")
    (changed / "experiment.toml").write_text((changed / "experiment.toml").read_text() + "# changed\n")
    for path in (open_one, changed):
        assert main(["sign", str(path), "--key", str(keys / "ann")]) == 6
        assert not (path / "SEAL.sig").exists()


@pytest.mark.slow
def test_what_is_no_key_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, nonsense = sealed(tmp_path), tmp_path / "key"
    nonsense.write_text("no key")
    for key in (nonsense, tmp_path / "absent"):
        assert main(["sign", str(path), "--key", str(key)]) == 6
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_ssh_keygen_the_package_is_named(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["sign", str(sealed(tmp_path)), "--key", str(keys / "ann")]) == 7
    assert "openssh-client" in capsys.readouterr().err
