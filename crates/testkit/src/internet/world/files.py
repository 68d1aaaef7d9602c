"""Files of package registries, the same under every name."""

import os

PREFIXES = ("/simple/", "/wheels/", "/npm/", "/cargo/", "/apt/")
KINDS = {".html": "text/html", ".json": "application/json"}


def find(root, request):
    """Returns the status, the kind and the bytes of a file."""
    path = os.path.normpath(root + request.path)
    if not path.startswith(root):
        return "404 Not Found", "text/plain", b""
    if os.path.isdir(path):
        path = os.path.join(path, "index.html")
    if not os.path.isfile(path):
        return "404 Not Found", "text/plain", b"not found\n"
    with open(path, "rb") as file:
        content = file.read()
    kind = KINDS.get(os.path.splitext(path)[1], "application/octet-stream")
    if request.path.startswith("/npm/") and not path.endswith(".tgz"):
        kind = "application/json"
    # Registries name themselves in what they serve.
    origin = ("https://" if request.secure else "http://") + request.host
    return "200 OK", kind, content.replace(b"@ORIGIN@", origin.encode())
