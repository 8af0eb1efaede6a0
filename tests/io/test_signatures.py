"""Signed model files: what is refused, and with which sentence."""

import json
import os
import subprocess

import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris
from zoo import fitted_once

import sepc
from sepc.cli import main
from sepc.errors import FormatError, SignatureError

package_or_skip("model_signing")
ec = package_or_skip("cryptography.hazmat.primitives.asymmetric.ec")
rsa = package_or_skip("cryptography.hazmat.primitives.asymmetric.rsa")
pem = package_or_skip("cryptography.hazmat.primitives.serialization")

X, Y = load_iris(return_X_y=True)


@fitted_once
def iris():
    return sepc.SEPClassifier().fit(X[::2], Y[::2])


def write_keys(folder, name, private=None, password=None):
    private = private or ec.generate_private_key(ec.SECP256R1())
    locked = pem.BestAvailableEncryption(password) if password else pem.NoEncryption()
    (folder / f"{name}.pem").write_bytes(private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, locked))
    public = private.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)


@pytest.fixture
def model(tmp_path):
    """A signed model, with the keys of its signer in `own` and others in `other`."""
    for name in ("own", "other"):
        write_keys(tmp_path, name)
    path = tmp_path / "model.sepc"
    sepc.save(iris(), path)
    sepc.sign(path, tmp_path / "own.pem")
    return path


def test_a_signed_file_is_verified_and_loaded(model):
    key = model.parent / "own.pub"
    assert sepc.verify(model, key) is None
    assert (sepc.load(model, key=key).predict(X) == iris().predict(X)).all()
    assert str(sepc.inspect(model, key=key)) == str(sepc.inspect(model))


def test_a_signed_file_may_be_moved_and_renamed_with_its_signature(model, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "renamed.sepc"
    model.rename(moved)
    os.rename(f"{model}.sig", f"{moved}.sig")
    sepc.verify(moved, tmp_path / "own.pub")


def test_files_behind_links_are_signed_and_verified(model, tmp_path):
    link = tmp_path / "link.sepc"
    link.symlink_to(model)
    sepc.sign(link, tmp_path / "own.pem")
    sepc.verify(link, tmp_path / "own.pub")


def test_one_changed_byte_is_refused_wherever_it_is(model):
    data, key = model.read_bytes(), model.parent / "own.pub"
    # The first eight bytes are the length of the header; without a plausible one it is no model at all.
    places = [*range(8, len(data), len(data) // 40), len(data) - 1]
    for place in places:
        model.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SignatureError, match=r"model\.sepc is not the file that was signed: it was changed"):
            sepc.load(model, key=key)
    model.write_bytes(data)
    sepc.verify(model, key)


def test_another_model_is_refused(model):
    sepc.save(sepc.SEPClassifier().fit(X, Y), model)
    with pytest.raises(SignatureError, match=r"model\.sepc is not the file that was signed: it was changed since\.$"):
        sepc.load(model, key=model.parent / "own.pub")


def test_a_wrong_key_is_refused(model):
    with pytest.raises(SignatureError, match=r"model\.sepc\.sig was made with another key than this one\.$"):
        sepc.load(model, key=model.parent / "other.pub")


def test_a_missing_signature_is_refused(model):
    os.unlink(f"{model}.sig")
    with pytest.raises(SignatureError, match=r"model\.sepc is not signed: there is no file .*model\.sepc\.sig\.$"):
        sepc.load(model, key=model.parent / "own.pub")
    assert sepc.load(model) is not None


def test_a_signature_without_its_key_hint_is_checked_by_the_key_alone(model, capsys):
    signature = model.with_name("model.sepc.sig")
    bundle = json.loads(signature.read_text(encoding="utf-8"))
    bundle["verificationMaterial"]["publicKey"] = {}
    signature.write_text(json.dumps(bundle), encoding="utf-8")
    sepc.verify(model, model.parent / "own.pub")
    with pytest.raises(SignatureError, match="was not made with this key, or was changed since"):
        sepc.verify(model, model.parent / "other.pub")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", ["", "{}", "[]", "not JSON", '{"dsseEnvelope": 3}'])
def test_what_is_not_a_signature_is_refused(model, content):
    model.with_name("model.sepc.sig").write_text(content, encoding="utf-8")
    with pytest.raises(SignatureError, match=r"model\.sepc\.sig is not a signature, or is damaged"):
        sepc.verify(model, model.parent / "own.pub")


def test_keys_that_cannot_be_used_are_named(model, tmp_path):
    write_keys(tmp_path, "rsa", rsa.generate_private_key(65537, 2048))
    for key in ("own.pem", "rsa.pub", "model.sepc"):
        with pytest.raises(SignatureError, match=f"{key} is not a public key: it must be an elliptic curve key"):
            sepc.verify(model, tmp_path / key)
    for key in ("own.pub", "rsa.pem", "model.sepc"):
        with pytest.raises(SignatureError, match=f"{key} is not a private key to sign with"):
            sepc.sign(model, tmp_path / key)
    with pytest.raises(SignatureError, match=r"There is no key .*none\.pub"):
        sepc.verify(model, tmp_path / "none.pub")


def test_an_encrypted_key_needs_its_password(model, tmp_path):
    write_keys(tmp_path, "locked", password=b"a secret")
    with pytest.raises(SignatureError, match="It is encrypted: give its password"):
        sepc.sign(model, tmp_path / "locked.pem")
    with pytest.raises(SignatureError, match="is not a private key to sign with"):
        sepc.sign(model, tmp_path / "locked.pem", password="a guess")
    sepc.sign(model, tmp_path / "locked.pem", password="a secret")
    sepc.verify(model, tmp_path / "locked.pub")


def test_what_is_not_a_model_is_not_signed(tmp_path, model):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(FormatError):
        sepc.sign(tmp_path / "table.csv", tmp_path / "own.pem")
    assert not (tmp_path / "table.csv.sig").exists()


def test_the_commands_sign_verify_and_demand_a_signature(model, tmp_path, capsys):
    own, other, secret = (str(tmp_path / name) for name in ("own.pub", "other.pub", "own.pem"))
    assert main(["sign", str(model), "--key", secret]) == 0
    assert "model.sepc.sig" in capsys.readouterr().out
    assert main(["verify", str(model), "--key", own]) == 0
    assert "is as it was signed with this key" in capsys.readouterr().out
    assert main(["verify", str(model), "--key", other]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["inspect", str(model), "--key", own, "--history"]) == 0
    assert capsys.readouterr().out.startswith("1. SEPClassifier, model ")
    assert main(["inspect", str(model), "--key", other]) == 2
    table = tmp_path / "rows.csv"
    table.write_text("x0,x1,x2,x3\n5.1,3.5,1.4,0.2\n", encoding="utf-8")
    capsys.readouterr()
    asked = [
        "score",
        str(model),
        str(table),
        "--output",
        str(tmp_path / "out.csv"),
        "--features",
        "x0,x1,x2,x3",
        "--key",
    ]
    assert main([*asked, own]) == 0
    capsys.readouterr()
    assert main([*asked, other]) == 2
    assert "made with another key" in capsys.readouterr().err


def test_the_command_of_model_signing_verifies_it_too(model):
    asked = ["model_signing", "verify", "key", str(model), "--signature", f"{model}.sig", "--public_key"]
    try:
        found = [
            subprocess.run([*asked, str(model.parent / name)], check=False).returncode
            for name in ("own.pub", "other.pub")
        ]
    except FileNotFoundError:
        pytest.skip("the command of model-signing is not on the path")
    assert found[0] == 0 != found[1]
