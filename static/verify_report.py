#!/usr/bin/env python3
"""Check that files of a report are those which a Benchsite site published. Needs no connection.

    curl -O https://your-site/.well-known/benchsite-signing-key
    curl -O https://your-site/r/TOKEN@1.json -O https://your-site/r/TOKEN@1.json.sig
    python3 verify_report.py --key benchsite-signing-key TOKEN@1.json

The signature of FILE is read from FILE.sig. Fetch the public key once, from a site that you trust, and keep it. Needs
the package `cryptography` beside the standard library.

Exit codes: 0 every file is genuine; 1 at least one is not; 2 a file, its signature or the key cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----\s*", re.DOTALL)


def read_keys(pem: bytes) -> list[Ed25519PublicKey]:
    """The Ed25519 keys in PEM; several may follow one another. Raises ValueError where there is none."""
    keys = [load_pem_public_key(block) for block in PEM.findall(pem)]
    ed25519_keys = [key for key in keys if isinstance(key, Ed25519PublicKey)]
    if not ed25519_keys:
        raise ValueError("the key file has no Ed25519 public key in PEM")
    return ed25519_keys


def is_genuine(data: bytes, signature: bytes, keys: list[Ed25519PublicKey]) -> bool:
    """Whether the signature of these bytes was made by one of the keys."""
    for key in keys:
        try:
            key.verify(signature, data)
        except InvalidSignature:
            continue
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the signatures of files of a Benchsite report.")
    parser.add_argument("--key", type=Path, required=True, help="the site's public key, in PEM")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="its signature is FILE.sig")
    options = parser.parse_args()
    try:
        keys = read_keys(options.key.read_bytes())
        files = [(file, file.read_bytes(), Path(f"{file}.sig").read_bytes()) for file in options.files]
    except (OSError, ValueError) as error:
        print(f"Cannot check: {error}", file=sys.stderr)
        return 2
    altered = 0
    for file, data, signature in files:
        if is_genuine(data, signature, keys):
            print(f"genuine  {file}  SHA-256 {hashlib.sha256(data).hexdigest()}")
        else:
            altered += 1
            print(f"ALTERED  {file}: the signature is not that of this file by this site")
    return 1 if altered else 0


if __name__ == "__main__":
    sys.exit(main())
