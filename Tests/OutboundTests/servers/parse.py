"""Reads a message with Python's email package and prints what it finds as JSON."""
import email, email.policy, json, sys

raw = open(sys.argv[1], "rb").read()
message = email.message_from_bytes(raw, policy=email.policy.default)


def mailbox(name):
    (one,) = message[name].addresses
    return [one.display_name, one.addr_spec]


def body(kind):
    part = message.get_body((kind,))
    return None if part is None else part.get_content()


lines = raw.split(b"\r\n")
defects = [str(d) for part in message.walk() for d in part.defects]
defects += [f"{name}: {d}" for name, value in message.items() for d in value.defects]
head = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
result = {
    "names": [name for name in message.keys()],
    "from": mailbox("From"),
    "to": mailbox("To"),
    "subject": message["Subject"],
    "date": int(message["Date"].datetime.timestamp()),
    "id": message["Message-ID"],
    "kind": message.get_content_type(),
    "encodings": [p["Content-Transfer-Encoding"] for p in message.walk() if not p.is_multipart()],
    "text": body("plain"),
    "html": body("html"),
    "defects": defects,
    "longest": max(len(line) for line in lines),
    "longestInHead": max(len(line) for line in head),
    "isASCII": all(byte < 128 for byte in raw),
    "hasBareLineEnds": raw.count(b"\n") != raw.count(b"\r\n") or raw.count(b"\r") != raw.count(b"\r\n"),
}
json.dump(result, sys.stdout)
