package import Runtime
import EventLoop
import JSON

extension ErrorType {
  package static let additionalFactorRequired = ErrorType(
    "additional_factor_required", .unauthenticated
  )
  .titled("A second factor completes the sign-in.")
  .remedied("Ask the user for a code, and send it with flow to POST /v1/login/second-factor.")
  package static let mfaDisabled = ErrorType("mfa_disabled", .forbidden)
    .titled("The app does not use second factors.")
    .remedied("Set mfa to optional or required.")
  package static let tooManyFactors = ErrorType("second_factor_limit", .conflict)
    .titled("The user has the maximum number of second factors.")
    .remedied("Remove an unused second factor.")

  package static let secondFactorErrors = [additionalFactorRequired, mfaDisabled, tooManyFactors]
}

extension Failure {
  package static let mfaDisabled = Failure(.mfaDisabled)

  /// Returns the error for a login that one of `methods` completes in `flow`.
  package static func additionalFactorRequired(
    flow: String, methods: [String], lifetime: Duration
  ) -> Failure {
    Failure(
      .additionalFactorRequired,
      members: [
        ("flow", .string(flow)), ("methods", .array(methods.map(JSON.string))),
        ("expires_in", .number(JSONNumber(lifetime.wholeSeconds))),
      ]
    )
  }

  package static func tooManyFactors(limit: Int) -> Failure {
    Failure(.tooManyFactors, limit: limit)
  }
}
