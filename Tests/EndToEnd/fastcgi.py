"""FastCGI requests without nginx."""

import struct


def records(*, path="/v1/login/anonymous", content_length=0, body=b""):
    """Returns a request as nginx sends it: GET /healthz, or POST of a body to a path."""
    def record(kind, content, padding=0):
        return struct.pack(">BBHHBx", 1, kind, 1, len(content), padding) + content + bytes(padding)

    def parameter(name, value):
        return struct.pack(">BB", len(name), len(value)) + name.encode() + value.encode()

    parameters = b"".join(
        parameter(name, value) for name, value in [
            ("REQUEST_METHOD", "POST" if content_length else "GET"),
            ("REQUEST_URI", path if content_length else "/healthz"),
            ("REMOTE_ADDR", "127.0.0.1"), ("CONTENT_TYPE", "application/json"),
            ("CONTENT_LENGTH", str(content_length))])
    return (
        record(1, struct.pack(">HB5x", 1, 1)) + record(4, parameters, padding=3)
        + record(4, b"") + (record(5, body) if body else b"") + record(5, b""))


def responses(client):
    """Returns the bytes received until the answer or the connection ends."""
    received = b""
    while b"\x01\x03\x00\x01" not in received:
        part = client.recv(65536)
        if not part:
            break
        received += part
    return received
