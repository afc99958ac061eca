"""An issuer of tokens (RFC 7519) for tests, by the openssl command: its keys are in a directory of the caller's."""

import base64
import json
import subprocess
import time
from pathlib import Path

RESOURCE_SERVER = "tests"


def scopes(*words: str) -> str:
    return " ".join(f"{RESOURCE_SERVER}.{word}" for word in words)


def _encoded(part: bytes) -> bytes:
    return base64.urlsafe_b64encode(part).rstrip(b"=")


class Issuer:
    """issuer({"scope": "…"}): a token of `token-user`, signed as the broker expects it, unless another key is named."""

    def __init__(self, directory: Path):
        self.directory = directory
        for name in ("own", "other"):
            self._run("genrsa", "-out", directory / f"{name}.key", "2048")
            self._run("rsa", "-in", directory / f"{name}.key", "-pubout", "-out", directory / f"{name}.pem")

    @property
    def settings(self) -> dict[str, str]:
        """What a broker has to know of it."""
        return {"auth_oauth2.resource_server_id": RESOURCE_SERVER, "auth_oauth2.signing_keys.own": str(self.directory / "own.pem")}

    def __call__(self, claims: dict, key: str = "own") -> str:
        claims = {"aud": RESOURCE_SERVER, "exp": int(time.time()) + 600, "sub": "token-user", **claims}
        signed = b".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "own", "typ": "JWT"}, claims))
        return (signed + b"." + _encoded(self._run("dgst", "-sha256", "-sign", self.directory / f"{key}.key", given=signed))).decode()

    @staticmethod
    def _run(*command: object, given: bytes = b"") -> bytes:
        return subprocess.run(["openssl", *map(str, command)], input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
