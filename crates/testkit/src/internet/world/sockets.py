"""The server's side of WebSocket: sends back each message it gets."""

import base64
import hashlib

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def serve(key, stream):
    accepted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest())
    stream.send(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accepted + b"\r\n\r\n"
    )
    while True:
        head = stream.exactly(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return
        size = head[1] & 127
        if size == 126:
            size = int.from_bytes(stream.exactly(2), "big")
        mask = stream.exactly(4)
        data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(stream.exactly(size)))
        stream.send(bytes([0x80 | head[0] & 15, len(data)]) + data)
