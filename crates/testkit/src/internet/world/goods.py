"""Makes what the package registries and the git server have: one small thing."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile


def make(config):
    root = config["files"]
    wheel(root)
    npm(root)
    cargo(root)
    apt(root)
    git(config["repositories"])


def put(root, path, content):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def packed(files):
    """Returns the files as a compressed archive."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return found.getvalue()


def wheel(root):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("tiny.py", "VALUE = 42\n")
        about = "Metadata-Version: 2.1\nName: tiny\nVersion: 0.1.0\n"
        archive.writestr("tiny-0.1.0.dist-info/METADATA", about)
        made = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("tiny-0.1.0.dist-info/WHEEL", made)
        names = ("METADATA", "WHEEL", "RECORD")
        record = "".join(f"tiny-0.1.0.dist-info/{name},,\n" for name in names)
        archive.writestr("tiny-0.1.0.dist-info/RECORD", "tiny.py,,\n" + record)
    name = "tiny-0.1.0-py3-none-any.whl"
    put(root, f"wheels/{name}", found.getvalue())
    link = f'<!DOCTYPE html><html><body><a href="/wheels/{name}">{name}</a></body></html>'
    put(root, "simple/tiny/index.html", link)


def npm(root):
    about = {"name": "tiny", "version": "0.1.0", "main": "index.js"}
    archive = packed(
        {
            "package/package.json": json.dumps(about),
            "package/index.js": "module.exports = 42;\n",
        }
    )
    put(root, "npm/tiny-0.1.0.tgz", archive)
    dist = {
        "tarball": "@ORIGIN@/npm/tiny-0.1.0.tgz",
        "shasum": hashlib.sha1(archive).hexdigest(),
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
    }
    versions = {"0.1.0": {**about, "dist": dist}}
    listing = {"name": "tiny", "dist-tags": {"latest": "0.1.0"}, "versions": versions}
    put(root, "npm/tiny", json.dumps(listing))


def cargo(root):
    manifest = '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n'
    archive = packed(
        {
            "tiny-0.1.0/Cargo.toml": manifest,
            "tiny-0.1.0/src/lib.rs": "pub const VALUE: u32 = 42;\n",
        }
    )
    put(root, "cargo/crates/tiny/0.1.0/download", archive)
    put(root, "cargo/config.json", json.dumps({"dl": "@ORIGIN@/cargo/crates"}))
    checksum = hashlib.sha256(archive).hexdigest()
    entry = {"name": "tiny", "vers": "0.1.0", "deps": [], "cksum": checksum}
    entry |= {"features": {}, "yanked": False}
    put(root, "cargo/ti/ny/tiny", json.dumps(entry) + "\n")


def apt(root):
    packages = (
        "Package: tiny\nVersion: 0.1.0\nArchitecture: all\nMaintainer: test <t@allowed.test>\n"
        "Description: a small thing\nFilename: tiny.deb\nSize: 1\nSHA256: " + "0" * 64 + "\n\n"
    ).encode()
    put(root, "apt/Packages", packages)
    digest = hashlib.sha256(packages).hexdigest()
    made = "Date: Thu, 01 Jan 2026 00:00:00 UTC"
    release = f"Origin: test\nSuite: test\n{made}\nSHA256:\n {digest} {len(packages)} Packages\n"
    put(root, "apt/Release", release)


def git(repositories):
    seed = os.path.join(repositories, "seed")
    put(seed, "README", "a small thing\n")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": repositories}
    about = ["-c", "user.name=test", "-c", "user.email=test@allowed.test"]

    def run(*arguments):
        command = ["git", *about, "-c", "safe.directory=*", *arguments]
        subprocess.run(command, check=True, env=environment, capture_output=True)

    run("init", "--quiet", "--initial-branch=main", seed)
    run("-C", seed, "add", "README")
    run("-C", seed, "commit", "--quiet", "--message=first")
    run("clone", "--quiet", "--bare", seed, os.path.join(repositories, "tiny.git"))
    private = os.path.join(repositories, "private.git")
    run("clone", "--quiet", "--bare", seed, private)
    run("-C", private, "config", "http.receivepack", "true")
