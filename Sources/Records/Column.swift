package import JSON

/// An attribute of a record, as its initializer declares it.
package struct Column: Sendable {
  package let name: String
  package let rule: ColumnRule
  /// The value of a record that has chosen none; null for a required column.
  package let usual: JSON
  /// The effect of the attribute, for operators: a phrase without a capital letter and a period.
  package let meaning: String
  package let traits: [Trait]

  package enum Trait: Sendable, Equatable {
    /// Each record has a value.
    case required
    /// Only a creation may have it.
    case immutable
    /// No response and no file shows it. Audit events have only its name.
    case secret
    /// Lists of commands show it, as they do required columns.
    case listed
    /// Has an example value in the reference.
    case example(JSON)
    /// Its name in the Management API of Auth0.
    case auth0(String)
  }

  package func has(_ trait: Trait) -> Bool { traits.contains(trait) }

  package var example: JSON? {
    for case .example(let value) in traits { return value }
    return nil
  }

  package var auth0Name: String? {
    for case .auth0(let name) in traits { return name }
    return nil
  }
}

/// A value that breaks a rule.
package struct ColumnFault: Sendable {
  /// A JSON Pointer: the path to the value.
  package let place: String
  package let code: String
  package let detail: String

  package init(_ place: String, _ code: String, _ detail: String) {
    (self.place, self.code, self.detail) = (place, code, detail)
  }
}
