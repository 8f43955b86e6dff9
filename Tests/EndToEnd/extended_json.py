"""Extended JSON as realm-core reads and writes it."""

import base64
import re


class Number:
    """A number with the type that realm-core gives it."""

    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def __eq__(self, other):
        return isinstance(other, Number) and (self.kind, self.value) == (other.kind, other.value)

    def __repr__(self):
        return f"{self.kind}({self.value})"


def int32(value):
    return Number("Int32", value)


def int64(value):
    return Number("Int64", value)


def encoded(value):
    """Returns a value in canonical Extended JSON, as SDKs write arguments."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, Number):
        text = repr(value.value) if value.kind == "Double" else str(value.value)
        return {KINDS[value.kind]: text}
    if isinstance(value, int):
        kind = "$numberInt" if -2**31 <= value < 2**31 else "$numberLong"
        return {kind: str(value)}
    if isinstance(value, float):
        return {"$numberDouble": repr(value)}
    if isinstance(value, list):
        return [encoded(element) for element in value]
    if len(value) == 1 and next(iter(value)) in WRAPPERS:
        return value
    return {name: encoded(member) for name, member in value.items()}


KINDS = {"Int32": "$numberInt", "Int64": "$numberLong", "Double": "$numberDouble"}
WRAPPERS = {"$oid", "$date", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal",
            "$binary", "$regularExpression", "$timestamp", "$uuid"}


def decoded(value):
    """Returns Extended JSON as realm-core reads it. Fails where realm-core would crash."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int64(value)
    if isinstance(value, float):
        return Number("Double", value)
    if isinstance(value, list):
        return [decoded(element) for element in value]
    for name in WRAPPERS & set(value):
        assert len(value) == 1, value
        return typed(name, value[name], value)
    return {name: decoded(member) for name, member in value.items()}


def typed(name, inner, value):
    """Decodes a wrapper. Fails unless it has the exact form that realm-core requires."""
    if name in ["$date", "$binary", "$timestamp", "$regularExpression"]:
        assert isinstance(inner, dict), value
        members = {"$date": {"$numberLong"}, "$binary": {"base64", "subType"},
                   "$timestamp": {"t", "i"}, "$regularExpression": {"pattern", "options"}}
        assert set(inner) == members[name], value
        if name == "$date":
            whole(inner["$numberLong"], 64)
        if name == "$binary":
            base64.b64decode(inner["base64"], validate=True)
            assert re.fullmatch("[0-9a-f]{2}", inner["subType"]), value
        if name == "$timestamp":
            assert all(type(part) is int and 0 <= part < 2**32 for part in inner.values()), value
        return value
    assert isinstance(inner, str), value
    if name == "$numberInt":
        return int32(whole(inner, 32))
    if name == "$numberLong":
        return int64(whole(inner, 64))
    if name == "$numberDouble":
        return Number("Double", float(inner))
    forms = {"$oid": "[0-9a-f]{24}", "$uuid": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
             "$numberDecimal": r"-?([0-9.]+(E[+-]?[0-9]+)?|Infinity)|NaN"}
    assert re.fullmatch(forms[name], inner), value
    return value


def whole(text, bits):
    assert re.fullmatch("-?[0-9]+", text), text
    number = int(text)
    assert -2**(bits - 1) <= number < 2**(bits - 1), text
    return number
