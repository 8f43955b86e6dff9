import Accounts
import EventLoop
import HTTP
import Pages
import Runtime
import Sessions
import WireKit

extension Call {
  /// Does the work of a form.
  ///
  /// - Parameters:
  ///   - wrong: the error of a wrong password or code on this page.
  ///   - flow: the flow of a mailed code; nil for other work.
  ///   - work: the work.
  /// - Returns: the errors that the page of the form shows; none if the work is done.
  /// - Throws: a failure that has a page of its own.
  func errors(
    wrong: FormError.Kind, flow: String? = nil, of work: @EventLoop () async throws(Failure) -> Void
  ) async throws(Failure) -> [FormError] {
    do throws(Failure) {
      try await work()
      return []
    } catch {
      guard let errors = FormError.errors(of: error, wrong: wrong, in: context.app) else {
        throw error
      }
      // For the log, which has no other trace of it.
      failure = error
      guard error.type == .invalidCode, let flow,
        let end = try await AuthenticationFlow.end(of: flow, context)
      else { return errors }
      return [FormError(end == .expired ? .codeExpired : .codeAttempts)]
    }
  }

  /// Returns a page with the errors of its last form.
  ///
  /// After too many attempts, the status is 429, and `Retry-After` has the time of the next one.
  func response(with page: Page, errors: [FormError], locales: [String] = []) -> Response {
    let throttled = errors.first { $0.kind == .attempts || $0.kind == .unavailable }
    let status: Status =
      switch throttled?.kind {
      case .attempts: .tooManyRequests
      case .unavailable: .unavailable
      default: .ok
      }
    var response = response(with: page, status, locales: locales)
    if let throttled { response.add(.retryAfter, String(throttled.number ?? 1)) }
    return response
  }

  /// Returns a redirect to the page of a form, which then shows the errors.
  func redirect(to path: LocalPath, showing state: PageState) throws(Failure) -> Response {
    redirect(to: try state.path(path, self))
  }
}
