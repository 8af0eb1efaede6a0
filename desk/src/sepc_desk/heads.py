"""Signed heads of the chain, to be kept where nobody who can write to the database can reach them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sepc_desk.errors import SettingError


@dataclass(frozen=True)
class Head:
    """A place of the chain and its hash.

    Attributes
    ----------
    place : int
    hash : bytes
    at : str
        When it was signed; empty for a receipt.
    signature : bytes or None
    """

    place: int
    hash: bytes
    at: str = ""
    signature: bytes | None = None

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"sepc-desk head\n{self.place}\n{self.hash.hex()}\n{self.at}".encode()

    def to_line(self) -> str:
        """One line of a file of heads."""
        signature = None if self.signature is None else base64.b64encode(self.signature).decode()
        return json.dumps({"place": self.place, "hash": self.hash.hex(), "at": self.at, "signature": signature})


def make_keys(path: Path) -> Path:
    """Write a new private key to `path` and its public key beside it; returns the path of the public one."""
    private = Ed25519PrivateKey.generate()
    public = path.with_name(path.name + ".pub")
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, none))
    public.write_bytes(private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))
    return public


def signed(place: int, own_hash: bytes, at: str, key: Path) -> Head:
    """A head with a signature by the private key in a file."""
    private = _loaded(key, lambda content: serialization.load_pem_private_key(content, None))
    if not isinstance(private, Ed25519PrivateKey):
        raise SettingError(f"{key} does not contain an Ed25519 key; create one with `sepc-desk heads key`.")
    head = Head(place, own_hash, at)
    return replace(head, signature=private.sign(head.message))


def public_key_of(path: Path) -> Ed25519PublicKey:
    """The public key in a file."""
    key = _loaded(path, serialization.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise SettingError(f"{path} does not contain a public Ed25519 key.")
    return key


def _loaded(path: Path, load: Callable[[bytes], object]) -> object:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise SettingError(f"{path} does not contain a key that can be used: {error}") from error


def is_genuine(head: Head, key: Ed25519PublicKey) -> bool:
    """Whether the head was signed with the private part of this key."""
    if head.signature is None:
        return False
    try:
        key.verify(head.signature, head.message)
    except InvalidSignature:
        return False
    return True


def read_heads(lines: Iterable[str]) -> list[Head]:
    """Heads of a file that `sepc-desk heads sign` has written."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            node = json.loads(line)
            signature = None if node.get("signature") is None else base64.b64decode(node["signature"])
            found.append(Head(int(node["place"]), bytes.fromhex(node["hash"]), str(node.get("at", "")), signature))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingError(f"Line {number} of the file of heads is not a head: {error}.") from error
    return found


def head_of_receipt(text: str) -> Head:
    """The head of a receipt, which is written as ``place:hash``."""
    place, _, digits = text.partition(":")
    try:
        return Head(int(place), bytes.fromhex(digits))
    except ValueError as error:
        raise SettingError(f"{text!r} is not a receipt; write its place and hash as in 17:3f2a...") from error
