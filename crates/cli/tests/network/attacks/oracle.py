"""Guesses at a secret, sent to a page that repeats them."""

from probe import *

VALUE = "v4lue-that-no-command-may-know"


def attack():
    for size in (4, 8, 15, 29):
        # A right guess must come back just as a wrong one does.
        for guess in (VALUE[:size], "w" + VALUE[1:size]):
            start = time.monotonic()
            answer = attempt(repeated, guess)
            took = time.monotonic() - start
            say("whole" if answer.endswith(guess) else "cut", "slow" if took > 1.5 else "soon")


def repeated(guess):
    trust = ssl.create_default_context()
    with trust.wrap_socket(dial("api.test", 443), server_hostname="api.test") as stream:
        about = f"Content-Length: {len(guess)}\r\nHost: api.test\r\n\r\n"
        stream.sendall(f"POST /echo HTTP/1.1\r\n{about}{guess}".encode())
        return read(stream)


start(attack)
