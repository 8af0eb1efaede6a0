"""Detached signatures of model files, made and checked by the OpenSSF package `model-signing` with key files."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from sepc.errors import SignatureError
from sepc.io.atomic_files import replacing, write_whole
from sepc.io.container import decode, read_bytes

# Added to the name of the model file.
SUFFIX = ".sig"

CURVES = "an elliptic curve key (P-256, P-384 or P-521) in PEM"

# What model-signing raises for files that are not what they should be; it documents none of them.
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError)


def sign(path: str | os.PathLike[str], key: str | os.PathLike[str], *, password: str | None = None) -> Path:
    """Sign a model file; the signature is written beside it, with ``.sig`` added to its name.

    The signature is a Sigstore bundle, as `model-signing` writes it, so that its own command can verify it too.
    Needs ``pip install sepc[sign]``.

    Parameters
    ----------
    path : str or Path
        A model file. A file that `load` would refuse as damaged is not signed.
    key : str or Path
        A file with a private elliptic curve key (P-256, P-384 or P-521) in PEM.
    password : str, optional
        The password of the key, if it is encrypted.

    Returns
    -------
    Path
        The file of the signature.

    Raises
    ------
    SignatureError
        If the key cannot be used.
    FormatError
        If the file is not a model.
    """
    signing = _model_signing().signing
    decode(read_bytes(path))
    signature = signature_of(path)
    secret = None if password is None else password.encode()
    private = _existing(key, "key")
    try:
        config = signing.Config().use_elliptic_key_signer(private_key=private, password=secret)
    except UNREADABLE as error:
        locked = " It is encrypted: give its password." if "Password was not given" in str(error) else ""
        raise SignatureError(f"{private} is not a private key to sign with: it must be {CURVES}.{locked}") from error
    with replacing(signature) as temporary:
        config.sign(os.path.realpath(path), temporary)
    return signature


def verify(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> None:
    """Check the signature of a model file, which lies beside it; returns nothing if it is valid.

    Parameters
    ----------
    path : str or Path
        A file that `sign` has signed.
    key : str or Path
        A file with the public key of the signer, in PEM.

    Raises
    ------
    SignatureError
        If there is no signature, if it was made with another key, or if the file was changed after it was signed.
    """
    read_verified(path, key)


def read_verified(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file whose signature is valid: the very bytes that were checked, read once."""
    verifying, public, signature = _model_signing().verifying, _existing(key, "key"), signature_of(path)
    data = read_bytes(path)
    if not signature.is_file():
        raise SignatureError(f"{os.fspath(path)} is not signed: there is no file {signature}.")
    try:
        config = verifying.Config().use_elliptic_key_verifier(public_key=public)
    except UNREADABLE as error:
        raise SignatureError(f"{public} is not a public key: it must be {CURVES}.") from error
    with tempfile.TemporaryDirectory() as folder:
        # A copy, since the file could be replaced between checking and reading it.
        copy = Path(folder, "model.sepc")
        write_whole(copy, data)
        _check(config, copy, signature, os.fspath(path))
    return data


def signature_of(path: str | os.PathLike[str]) -> Path:
    """The file with the signature of a model file."""
    return Path(os.fspath(path) + SUFFIX)


def _check(config: Any, copy: Path, signature: Path, name: str) -> None:
    from cryptography.exceptions import InvalidSignature

    try:
        # For some signatures of others it prints an advice, which would end up among the results of a command.
        with redirect_stdout(io.StringIO()):
            config.verify(copy, signature)
    except InvalidSignature as error:
        raise SignatureError(f"{signature} was not made with this key, or was changed since.") from error
    except UNREADABLE as error:
        if str(error).startswith("Key mismatch"):
            raise SignatureError(f"{signature} was made with another key than this one.") from error
        if str(error).startswith("Signature mismatch"):
            raise SignatureError(f"{name} is not the file that was signed: it was changed since.") from error
        raise SignatureError(f"{signature} is not a signature, or is damaged.") from error


def _existing(path: str | os.PathLike[str], what: str) -> Path:
    if not Path(path).is_file():
        raise SignatureError(f"There is no {what} {os.fspath(path)}.")
    return Path(path)


def _model_signing() -> Any:
    try:
        import model_signing
    except ImportError as error:
        raise ImportError("Signatures need the package model-signing: pip install sepc[sign]") from error
    return model_signing
