"""A secret is used as it is meant to be, and looked for everywhere."""

import base64
import subprocess

from probe import *

KEY = os.environ["API_KEY"]
LOOK = r"""
env; cat /proc/self/environ /proc/1/environ /proc/*/cmdline
find / -xdev -type f -size -100k -not -path "/usr/*" -not -path "/proc/*" -not -path "/dev/*" |
    head -2000 | xargs cat
"""


def get(path, header):
    trust = ssl.create_default_context()
    with trust.wrap_socket(dial("api.test", 443), server_hostname="api.test") as stream:
        stream.sendall(request("api.test", path, header))
        return read(stream)


def attack():
    say("key", KEY)
    basic = base64.b64encode(b"user:" + KEY.encode()).decode()
    say("answer", attempt(get, "/bearer", "Authorization: Bearer " + KEY))
    say("answer", attempt(get, "/basic", "Authorization: Basic " + basic))
    say("answer", attempt(get, "/none", "X: y"))
    # This page repeats what it was asked with.
    say("repeated", attempt(get, "/echo", "Authorization: Bearer " + KEY))
    curl = ["curl", "-sS", "-H", "Authorization: " + KEY, "https://api.test/curl"]
    say("answer", subprocess.run(curl, capture_output=True))
    everything = subprocess.run(LOOK, shell=True, capture_output=True).stdout
    say("looked through", len(everything))
    say("known", b"v4lue-that" in everything)


start(attack)
