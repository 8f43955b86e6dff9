import EventLoop

/// The next reply that the server owes.
@EventLoop enum Expectation {
  case prepared(PendingQuery)
  case result(PendingQuery)
  case sync
  case plain(PlainCall)

  func fail(with error: DatabaseError) {
    switch self {
    case .prepared, .sync: break
    case .result(let call): call.fail(error)
    case .plain(let call): call.fail(error)
    }
  }
}

/// One call of unprepared SQL.
@safe @EventLoop final class PlainCall {
  private var results: [ResultSet] = []
  private var failure: DatabaseError?
  private var continuation: UnsafeContinuation<Result<[ResultSet], DatabaseError>, Never>?

  init(_ continuation: UnsafeContinuation<Result<[ResultSet], DatabaseError>, Never>) {
    unsafe self.continuation = continuation
  }

  func append(_ result: ResultSet) {
    if let failure = result.failure {
      self.failure = self.failure ?? failure
    } else {
      results.append(result)
    }
  }

  func complete() { resume(failure.map { .failure($0) } ?? .success(results)) }

  func fail(_ error: DatabaseError) { resume(.failure(failure ?? error)) }

  private func resume(_ outcome: Result<[ResultSet], DatabaseError>) {
    unsafe continuation?.resume(returning: outcome)
    unsafe continuation = nil
  }
}
