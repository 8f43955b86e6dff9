import Testing

@testable import Postgres

@Suite struct ServerFaultTests {
  @Test(arguments: [
    ("53100", ServerFault.diskFull), ("53200", .resources), ("58P01", .files), ("58030", .files),
    ("F0001", .files), ("25006", .readOnly), ("42501", .rights), ("42P01", .schema),
    ("42883", .schema), ("40001", nil), ("57014", nil), ("23505", nil), ("54000", nil),
    ("XX001", nil), ("22003", nil),
  ])
  func `an SQLSTATE determines whether the operator must act`(state: String, fault: ServerFault?) {
    #expect(DatabaseError(SQLState(rawValue: state), "").serverFault == fault)
  }

  @Test(arguments: ServerFault.allCases)
  func `each condition has a remedy and an explanation`(fault: ServerFault) {
    #expect(!fault.remedy.isEmpty)
    #expect(fault.explanation.hasSuffix("."))
  }
}
