import Imaging
import Documents
import Tenancy
import Sessions
import Delivery
import Accounts
package import Runtime
import HTTP
import JSON
import WireKit

extension ErrorType {
  /// The types of error of all modules, by status and code.
  package static let all: [ErrorType] =
    [
      generalErrors, appErrors, administrationErrors, accountErrors, secondFactorErrors,
      sessionErrors, deviceErrors, identityErrors, documentErrors, propertyErrors, searchErrors,
      pictureErrors, mailErrors, transportErrors, JSONError.Reason.allCases.map(\.type),
    ]
    .flatMap(\.self)
    .sorted { ($0.status.code, $0.code) < ($1.status.code, $1.code) }

  /// Returns the type with a code; nil if no type has it.
  package static func named(_ code: String) -> ErrorType? {
    all.first { $0.code.hasSameBytes(as: code) }
  }
}
