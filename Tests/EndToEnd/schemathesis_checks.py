"""Adds a check to Schemathesis: each error must be documented."""

import schemathesis

from asking import Answer
from reference import Reference


@schemathesis.check
def documented_refusal(ctx, response, case):
    # Other checks cover unsupported methods.
    if response.request.method != case.operation.method.upper():
        return
    reference = Reference(case.operation.schema.raw_schema)
    answer = Answer(
        response.status_code, {name.title(): values[0] for name, values in response.headers.items()},
        response.content)
    if response.status_code < 400:
        assert reference.response(case.operation.definition.raw, response.status_code), (
            f"status {response.status_code} is not documented")
        return
    fault = reference.problem_fault(case.operation.definition.raw, answer)
    assert fault is None, fault
