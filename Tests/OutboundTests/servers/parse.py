"""Parses messages with Python's email package, and prints them as a JSON array."""
import email, email.header, email.policy, email.utils, json, sys


def parse(path):
    with open(path, "rb") as file:
        raw = file.read()
    message = email.message_from_bytes(raw, policy=email.policy.default)

    older = email.message_from_bytes(raw)

    def mailbox(name):
        """By the older parser: that of policy.default puts blanks between the encoded words of a
        display name (python/cpython#128110)."""
        (one,) = message[name].addresses
        words, address = email.utils.parseaddr(older[name].replace("\r\n", ""))
        assert address == one.addr_spec, (address, one.addr_spec)
        return [str(email.header.make_header(email.header.decode_header(words))), address]

    def body(kind):
        part = message.get_body((kind,))
        return None if part is None else part.get_content().replace("\r\n", "\n")

    leaves = [part for part in message.walk() if not part.is_multipart()]
    defects = [str(defect) for part in message.walk() for defect in part.defects]
    for name, value in message.items():
        defects += [f"{name}: {defect}" for defect in value.defects]
    head = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    ends = raw.count(b"\r\n")
    return {
        "names": list(message.keys()),
        "from": mailbox("From"),
        "to": mailbox("To"),
        "subject": message["Subject"],
        "date": int(message["Date"].datetime.timestamp()),
        "id": message["Message-ID"],
        "kind": message.get_content_type(),
        "encodings": [part["Content-Transfer-Encoding"] for part in leaves],
        "text": body("plain"),
        "html": body("html"),
        "defects": defects,
        "longest": max(len(line) for line in raw.split(b"\r\n")),
        "longestInHead": max(len(line) for line in head),
        "isASCII": all(byte < 128 for byte in raw),
        "hasBlanksAtLineEnds": any(
            line.endswith((" ", "\t"))
            for part in leaves
            if part["Content-Transfer-Encoding"] == "quoted-printable"
            for line in part.get_payload().split("\r\n")
        ),
        "hasBareLineEnds": raw.count(b"\n") != ends or raw.count(b"\r") != ends,
    }


json.dump([parse(path) for path in sys.argv[1:]], sys.stdout)
