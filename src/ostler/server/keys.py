"""The installation's master key and what is derived from it: sealing of secrets, and signing of access tokens.

All replicas share one master key. It never enters the database, so a stolen dump opens nothing.
"""

import base64
import binascii
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ostler.effects import Random
from ostler.server.errors import KeyUnusable, SealBroken

_KEY_BYTES = 32
_NONCE_BYTES = 12


class MasterKey:
    """32 secret bytes. ``derive`` gives each purpose its own key."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != _KEY_BYTES:
            raise KeyUnusable(f"the master key has {len(secret)} bytes, not {_KEY_BYTES}")
        self._secret = secret

    def derive(self, purpose: str) -> bytes:
        """Return the 32-byte key of one purpose."""
        return HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"ostler/" + purpose.encode()).derive(self._secret)


def decode_master_key(text: str) -> MasterKey:
    """Read a key from its base64 form, as an environment variable or a file holds it."""
    try:
        return MasterKey(base64.b64decode(text.strip(), validate=True))
    except binascii.Error as error:
        raise KeyUnusable("the master key is not base64") from error


def read_master_key(path: Path) -> MasterKey:
    """Read the key file; it is never made here, or replicas would each have a key of their own."""
    try:
        return decode_master_key(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise KeyUnusable(f"{path} cannot be read as a master key: {error}") from error


def make_master_key(path: Path, random: Random) -> MasterKey:
    """Read the key file of a single installation, or make it (mode 0600) at the first start."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read_master_key(path)
    except OSError as error:
        raise KeyUnusable(f"{path} cannot be made: {error.strerror}") from error
    try:
        secret = random.randbytes(_KEY_BYTES)
        os.write(descriptor, base64.b64encode(secret) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return MasterKey(secret)


class AesSealer:
    """Seals secrets with AES-256-GCM. The associated data ties a sealed value to its row: swapped rows do not open."""

    def __init__(self, key: MasterKey, random: Random) -> None:
        self._cipher = AESGCM(key.derive("seal"))
        self._random = random

    def seal(self, plaintext: bytes, associated: bytes) -> bytes:
        """Return the nonce and the ciphertext."""
        nonce = self._random.randbytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plaintext, associated)

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Return the plaintext; raise ``SealBroken`` if the value was altered, moved or sealed by another key."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], associated)
        except InvalidTag as error:
            raise SealBroken(associated.decode(errors="replace")) from error
