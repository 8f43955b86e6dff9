"""The commands of the operator's guide, for tests that follow it word for word."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "deploy/README.md").read_text()
HIGH_AVAILABILITY = (ROOT / "deploy/ha/README.md").read_text()
CONFIGURATION = "/etc/dossier/dossier.conf"


def section(heading, text=GUIDE):
    """Returns the text below a heading."""
    text = text[text.index(f"\n## {heading}\n") + 1:]
    end = text.find("\n## ")
    return text[:end] if end >= 0 else text


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
