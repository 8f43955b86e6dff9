"""Validates each line of a file, {"schema", "instances"}, with python3-jsonschema."""

import decimal
import json
import sys

import jsonschema


def number(text):
    """Returns the exact number: as a float, 0.07 is not a multiple of 0.01."""
    value = decimal.Decimal(text)
    return int(value) if value == value.to_integral_value() else value


with open(sys.argv[1]) as lines:
    for line in lines:
        jsonschema.Draft202012Validator.check_schema(json.loads(line)["schema"])
        case = json.loads(line, parse_float=number)
        validator = jsonschema.Draft202012Validator(case["schema"])
        for instance in case["instances"]:
            print("fits" if validator.is_valid(instance) else "does not fit")
