"""Signed model files: what is refused, and with which sentence."""

import json
import os
import subprocess

import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris
from zoo import fitted_once

import sepc
import sepc.lifecycle
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
    sepc.lifecycle.sign(path, tmp_path / "own.pem")
    return path


def test_a_signed_file_is_verified_and_loaded_also_moved_or_behind_a_link(model, tmp_path):
    key, link = model.parent / "own.pub", tmp_path / "link.sepc"
    assert sepc.lifecycle.verify(model, key) is None
    assert (sepc.load(model, key=key).predict(X) == iris().predict(X)).all()
    assert str(sepc.inspect(model, key=key)) == str(sepc.inspect(model))
    link.symlink_to(model)
    sepc.lifecycle.sign(link, tmp_path / "own.pem")
    sepc.lifecycle.verify(link, key)
    moved = tmp_path / "renamed.sepc"
    model.rename(moved)
    os.rename(f"{model}.sig", f"{moved}.sig")
    sepc.lifecycle.verify(moved, key)


def test_one_changed_byte_is_refused_wherever_it_is(model):
    data, key = model.read_bytes(), model.parent / "own.pub"
    # The first eight bytes are the length of the header; without a plausible one it is no model at all.
    places = [*range(8, len(data), len(data) // 40), len(data) - 1]
    for place in places:
        model.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SignatureError, match="changed"):
            sepc.load(model, key=key)
    model.write_bytes(data)
    sepc.lifecycle.verify(model, key)


def test_another_model_key_or_no_signature_is_refused(model):
    key, other = model.parent / "own.pub", model.parent / "other.pub"
    with pytest.raises(SignatureError, match="another key"):
        sepc.load(model, key=other)
    sepc.save(sepc.SEPClassifier(max_ellipsoids=2).fit(X, Y), model)
    with pytest.raises(SignatureError, match="changed"):
        sepc.load(model, key=key)
    os.unlink(f"{model}.sig")
    with pytest.raises(SignatureError, match="not signed"):
        sepc.load(model, key=key)
    assert sepc.load(model) is not None


def test_a_signature_without_its_key_hint_is_checked_by_the_key_alone(model, capsys):
    signature = model.with_name("model.sepc.sig")
    bundle = json.loads(signature.read_text(encoding="utf-8"))
    bundle["verificationMaterial"]["publicKey"] = {}
    signature.write_text(json.dumps(bundle), encoding="utf-8")
    sepc.lifecycle.verify(model, model.parent / "own.pub")
    with pytest.raises(SignatureError, match="this key"):
        sepc.lifecycle.verify(model, model.parent / "other.pub")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", ["", "{}", "[]", "not JSON", '{"dsseEnvelope": 3}'])
def test_what_is_not_a_signature_is_refused(model, content):
    model.with_name("model.sepc.sig").write_text(content, encoding="utf-8")
    with pytest.raises(SignatureError, match="not a signature"):
        sepc.lifecycle.verify(model, model.parent / "own.pub")


def test_keys_that_cannot_be_used_are_named(model, tmp_path):
    write_keys(tmp_path, "rsa", rsa.generate_private_key(65537, 2048))
    for key in ("own.pem", "rsa.pub", "model.sepc"):
        with pytest.raises(SignatureError, match=f"{key} is not a public key"):
            sepc.lifecycle.verify(model, tmp_path / key)
    for key in ("own.pub", "rsa.pem", "model.sepc"):
        with pytest.raises(SignatureError, match=f"{key} is not a private key to sign with"):
            sepc.lifecycle.sign(model, tmp_path / key)
    with pytest.raises(SignatureError, match="none.pub"):
        sepc.lifecycle.verify(model, tmp_path / "none.pub")
    with pytest.raises(FormatError):  # what is not a model is not signed
        sepc.lifecycle.sign(tmp_path / "own.pub", tmp_path / "own.pem")
    assert not (tmp_path / "own.pub.sig").exists()


def test_an_encrypted_key_needs_its_password(model, tmp_path):
    write_keys(tmp_path, "locked", password=b"a secret")
    with pytest.raises(SignatureError, match="password"):
        sepc.lifecycle.sign(model, tmp_path / "locked.pem")
    with pytest.raises(SignatureError, match="private key"):
        sepc.lifecycle.sign(model, tmp_path / "locked.pem", password="a guess")
    sepc.lifecycle.sign(model, tmp_path / "locked.pem", password="a secret")
    sepc.lifecycle.verify(model, tmp_path / "locked.pub")


def test_the_commands_sign_verify_and_demand_a_signature(model, tmp_path, capsys):
    own, other, secret = (str(tmp_path / name) for name in ("own.pub", "other.pub", "own.pem"))
    table, out = tmp_path / "rows.csv", str(tmp_path / "out.csv")
    table.write_text("x0,x1,x2,x3\n5.1,3.5,1.4,0.2\n", encoding="utf-8")
    assert main(["sign", str(model), "--key", secret]) == 0
    assert "model.sepc.sig" in capsys.readouterr().out
    score = ["score", str(model), str(table), "--output", out, "--features", "x0,x1,x2,x3"]
    for words in (["verify", str(model)], ["inspect", str(model), "--history"], score):
        assert main([*words, "--key", own]) == 0
        capsys.readouterr()
        assert main([*words, "--key", other]) == 2
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
