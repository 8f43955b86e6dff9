package import Records
import Runtime
import JSON

extension ColumnRule {
  /// A name for people: one line of 1 to 100 characters.
  package static let label = ColumnRule(.text(1...100)) { value in
    value.string.flatMap(OperatorName.labelFault).map { ($0.code, $0.detail) }
  }

  /// A name that is also part of a path: 1 to 63 of a-z, 0-9 and -.
  package static let slug = ColumnRule(.text(1...63)) { value in
    value.string.flatMap(OperatorName.fault).map { ($0.code, $0.detail) }
  }
}
