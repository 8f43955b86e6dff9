import Accounts
import Documents
package import EventLoop
package import Runtime

/// Parses the lines of an input to users, by the rules of an app.
package struct ImportParser: Sendable {
  private let stringLimit: Int
  private let mixesScripts: Bool
  private let passkeys: PasskeyRules
  /// The schemas at the start of the run.
  private let schemas: DocumentSchemas
  /// Nil for Dossier's own format.
  private let foreign: (any ForeignReader)?

  /// - Throws: `.databaseUnavailable`.
  @EventLoop package init(
    _ foreign: (any ForeignReader)?, for app: App, _ context: RequestContext
  ) async throws(Failure) {
    self.foreign = foreign
    stringLimit = app.documentSettings.propertyStringLength
    mixesScripts = app.accountSettings.allowsMixedScripts
    passkeys = PasskeyRules(of: app)
    schemas = try await Schemas.current(of: app.id, context)
  }

  /// Returns the user of a line, or its faults; nil for a line of blanks.
  package func content(of line: LineSplitter.Line) -> Result<ImportedUser, Failure>? {
    switch line {
    case .text(let text):
      guard text.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) else { return nil }
      return parsed(text)
    case .tooLong:
      let rule = "A line may have at most \(LineSplitter.longest) bytes."
      return .failure(.invalid([FieldError("", "line_length", rule)]))
    }
  }

  private func parsed(_ text: [UInt8]) -> Result<ImportedUser, Failure> {
    do throws(Failure) {
      guard let line = try foreign?.translated(text) else {
        return .success(
          try ImportedUser(
            text, stringLimit: stringLimit, mixesScripts: mixesScripts, schemas: schemas,
            passkeys: passkeys
          )
        )
      }
      var user = try ImportedUser(
        line.row, stringLimit: stringLimit, mixesScripts: mixesScripts, schemas: schemas,
        passkeys: passkeys
      )
      (user.roles, user.leftOut) = (line.roles, line.leftOut)
      return .success(user)
    } catch {
      return .failure(error)
    }
  }
}
