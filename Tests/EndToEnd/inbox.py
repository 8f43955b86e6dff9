"""The folder in which the tested programs store mails."""

import email
import email.policy


class Mail:
    """A message with its recipients and its text part."""

    def __init__(self, path):
        self.message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        self.recipients = [mailbox.addr_spec for mailbox in self.message["To"].addresses]
        self.text = self.message.get_body(["plain"]).get_content().replace("\r\n", "\n")


class Inbox:
    """Parses each mail once: tests look again until a mail arrives."""

    def __init__(self, folder):
        self.folder = folder
        self.parsed = {}

    def mails(self, address):
        """Returns the mails to an address, the oldest first."""
        paths = sorted(self.folder.glob("*.eml"))
        for path in paths:
            if path not in self.parsed:
                self.parsed[path] = Mail(path)
        return [self.parsed[path] for path in paths if address in self.parsed[path].recipients]
