import Accounts
import JSON
import Runtime
import Testing

@Suite struct DisplayNameTests {
  private static let fit = [
    "Ada", "Ada Lovelace", " Ada", "\u{5e2}\u{5d3}\u{5d4}\u{200f}", "Ada\u{200e}",
    "\u{1f469}\u{200d}\u{1f52c}",
  ]

  @Test(arguments: fit) func `a name that people can read is accepted`(_ name: String) {
    #expect(Profiles.fault("name", .string(name)) == nil)
    #expect(OperatorName.labelFault(in: name) == nil)
  }

  @Test(arguments: [" ", "\u{a0}", "\u{3000}\u{2003}", "\u{200b}", "\u{3164}", "\u{200e}\u{200f}"])
  func `an invisible name is refused`(_ name: String) {
    for member in ["name", "given_name", "family_name", "nickname"] {
      #expect(Profiles.fault(member, .string(name))?.code == "blank")
    }
    #expect(OperatorName.labelFault(in: name)?.code == "blank")
  }

  @Test(arguments: (0x202a...0x202e).map { $0 } + (0x2066...0x2069).map { $0 })
  func `a name that turns the direction of text is refused`(_ value: Int) throws {
    let scalar = try #require(Unicode.Scalar(UInt32(value)))
    let name = "Ada \(Character(scalar))gnp.exe"
    #expect(Profiles.fault("nickname", .string(name))?.code == "direction")
    #expect(OperatorName.labelFault(in: name)?.code == "direction")
  }

  @Test func `a control character has its own code`() {
    #expect(Profiles.fault("name", "a\nb")?.code == "control_character")
    #expect(OperatorName.labelFault(in: "a\nb")?.code == "length")
  }
}
