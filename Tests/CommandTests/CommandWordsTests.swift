import ArgumentParser
import Testing

@testable import CommandKit
@testable import dossier

/// The words that people try for commands.
@Suite struct CommandWordsTests {
  private func named(_ line: String) throws -> String {
    try CommandWords.named(line.split(separator: " ").map(String.init), of: DossierCommand.self)
      .joined(separator: " ")
  }

  @Test(arguments: [
    ("users", "user"), ("users list", "user list"), ("user ls", "user list"),
    ("user get ada@example.com", "user show ada@example.com"),
    ("user find ada@example.com", "user show ada@example.com"),
    ("user search ada", "search ada"), ("find ada", "search ada"),
    ("user add email=a@example.com", "user create email=a@example.com"),
    ("user rm ada@example.com", "user delete ada@example.com"),
    ("user ban ada@example.com", "user block ada@example.com"),
    ("user unlock ada@example.com", "user unblock ada@example.com"),
    ("user role add ada@example.com", "user roles add ada@example.com"),
    ("user why ada@example.com", "user explain ada@example.com"),
    ("user sessions ada@example.com", "session list ada@example.com"),
    ("users devices ada@example.com", "device list ada@example.com"),
    ("user reset-password ada@example.com", "user password ada@example.com"),
    ("user mfa remove ada@example.com", "user second-factors remove ada@example.com"),
    ("client show Shop", "client show Shop"), ("clients view Shop", "client show Shop"),
    ("client edit Shop kind=web", "client set Shop kind=web"),
    ("client reset-secret Shop", "client rotate Shop"),
    ("rate-limit show", "rate-limit list"), ("limits list", "rate-limit list"),
    ("limits clear --all", "rate-limit reset --all"), ("limit", "rate-limit"),
    ("apps", "app"), ("app edit mfa=optional", "app set mfa=optional"),
    ("admins ls", "administrator list"),
    ("admin invite a@example.com", "administrator create a@example.com"),
    ("logs", "audit"), ("audit list", "audit"), ("status", "doctor"), ("health", "doctor"),
    ("stats", "statistics"), ("emails", "mail"), ("outbox", "mail"), ("apis", "resource-server"),
    ("providers", "connection"), ("jobs cancel 7", "job stop 7"), ("USERS", "user"),
    ("index rm custom_data.a", "index delete custom_data.a"),
    ("schema add metadata a.json", "schema set metadata a.json"),
    ("help users", "help user"), ("help user get", "help user show"),
    ("version", "--version"), ("--help", "--help"), ("", ""),
    // Words after the command are its own.
    ("user show users", "user show users"), ("audit --action users", "audit --action users"),
  ])
  func `a word that people try means a command`(typed: String, meant: String) throws {
    #expect(try named(typed) == meant)
  }

  @Test func `each name and alias of a command stays what it is`() throws {
    func check(_ command: any ParsableCommand.Type, _ path: [String]) throws {
      for child in command.configuration.subcommands {
        let line = path + [child._commandName]
        #expect(try named(line.joined(separator: " ")) == line.joined(separator: " "))
        for alias in child.configuration.aliases {
          #expect(try named((path + [alias]).joined(separator: " ")) == line.joined(separator: " "))
        }
        try check(child, line)
      }
    }
    try check(DossierCommand.self, [])
  }

  @Test(arguments: [
    ("usr list", #"There is no command "dossier usr". Did you mean "dossier user"?"#),
    ("user lsit", #"There is no command "dossier user lsit". Did you mean "dossier user list"?"#),
    ("fox", #"There is no command "dossier fox". "dossier --help" lists all."#),
    (
      "user frobnicate",
      #"There is no command "dossier user frobnicate". "dossier user --help" lists all."#
    ),
  ])
  func `an unknown command names the nearest one`(typed: String, said: String) {
    #expect { try named(typed) } throws: { "\($0)" == said }
  }

  @Test func `a long word is refused as fast as a short one`() {
    let word = String(repeating: "u", count: 100_000)
    #expect(throws: ValidationError.self) { try named(word) }
  }
}
