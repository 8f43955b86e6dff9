"""Requests to a deployment, and its answers."""

import http.client
import json

JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
PATCH = {"Content-Type": "application/json-patch+json"}
# The header field by which a test chooses its address.
ADDRESS = "X-Test-Address"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def version(self):
        return int(self.headers["ETag"].strip('"'))


class Asking:
    """Sends requests to `port`, which the subclass sets."""

    # The reference that describes every answer. All deployments of one build share it.
    reference = None

    def connection(self, timeout=300):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, token=None, connection=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        client = connection or self.connection()
        try:
            client.request(method, path, body=body, headers=headers)
            response = client.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            fault = self.reference and self.reference.fault(method, path, answer)
            assert not fault, fault
            return answer
        finally:
            if connection is None:
                client.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def login(self, device=None):
        headers = {**JSON, "Dossier-Device": device} if device else JSON
        answer = self.request("POST", "/v1/login/anonymous", {}, headers)
        assert answer.status == 200, answer.body
        return answer.json
