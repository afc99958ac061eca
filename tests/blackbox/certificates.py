"""A certificate authority for tests, by the openssl command: everything in a directory of the caller's."""

import subprocess
from pathlib import Path

P12_PASSWORD = "warren"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def _openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}:\n{done.stdout}")


class Identity:
    """Files of a certificate and its key."""

    def __init__(self, directory: Path, name: str):
        self.certificate, self.key, self.p12 = (directory / f"{name}{end}" for end in (".pem", ".key", ".p12"))


class Authority:
    """Signs whatever it is asked to."""

    def __init__(self, directory: Path, name: str = "ca"):
        self.directory, self.name = directory, name
        self.certificate = directory / f"{name}.pem"
        _openssl(
            "req", "-x509", *_KEY, "-days", 2, "-subj", f"/CN=Warren Test {name}", "-addext", "basicConstraints=critical,CA:TRUE",
            "-keyout", directory / f"{name}.key", "-out", self.certificate,
        )  # fmt: skip

    def sign(self, name: str, subject: str, alternative_names: str = "") -> Identity:
        """`name.pem`, `name.key` and `name.p12`. A certificate of the same name is replaced in one step, key first."""
        identity, request, extensions = Identity(self.directory, name), self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        new = Identity(self.directory, f"{name}.new")
        _openssl("req", *_KEY, "-utf8", "-subj", subject, "-keyout", new.key, "-out", request)
        extensions.write_text("basicConstraints=CA:FALSE\n" + (f"subjectAltName={alternative_names}\n" if alternative_names else ""))
        _openssl(
            "x509", "-req", "-days", 2, "-in", request, "-CA", self.certificate, "-CAkey", self.directory / f"{self.name}.key",
            "-CAcreateserial", "-extfile", extensions, "-out", new.certificate,
        )  # fmt: skip
        _openssl("pkcs12", "-export", "-in", new.certificate, "-inkey", new.key, "-passout", f"pass:{P12_PASSWORD}", "-out", identity.p12)
        new.key.replace(identity.key)
        new.certificate.replace(identity.certificate)
        return identity
