"""The commands of the operator's guide, for tests that follow it word for word."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "deploy/README.md").read_text()
HIGH_AVAILABILITY = (ROOT / "deploy/ha/README.md").read_text()
CONFIGURATION = "/etc/dossier/dossier.conf"

# Edits the settings as step 5 asks. `Debian.start_relay` receives the mail.
EDIT = (f"sed -i -e 's|^issuer = .*|issuer = https://id.example.com|' -e 's|^# mail = .*|"
        f"mail = smtp://127.0.0.1:25\\nmail_tls = optional|' {CONFIGURATION}")


def section(heading, text=GUIDE):
    """Returns the text below a heading, with that of its subheadings."""
    found = re.search(rf"(?m)^(##+) {re.escape(heading)}$", text)
    text = text[found.start():]
    end = re.search(rf"\n#{{2,{len(found[1])}}} ", text)
    return text[:end.start()] if end else text


def commands(heading, text=GUIDE):
    """Returns the commands of a section, a script for each place."""
    return scripts(section(heading, text))


def scripts(text):
    """Returns the scripts of a text, without the indentation of their steps."""
    return ["\n".join(line.removeprefix(indentation) for line in script.split("\n"))
            for indentation, script in re.findall(r"(?ms)^( *)```sh\n(.*?)^ *```$", text)]


def steps():
    """Returns the commands of the installation, by the number of their step."""
    parts = re.split(r"(?m)^(\d+)\. ", section("Install in ten steps"))[1:]
    return {int(number): "\n".join(scripts(part))
            for number, part in zip(parts[::2], parts[1::2])}
