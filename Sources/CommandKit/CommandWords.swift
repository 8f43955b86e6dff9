package import ArgumentParser

/// The words that people try for commands, beside the one name that each command has.
///
/// A word counts only where no command has it as its name. So a new command takes its name back.
package enum CommandWords {
  /// Returns arguments in which each command has its name.
  ///
  /// - Parameters:
  ///   - arguments: what an operator has typed after the name of the program.
  ///   - root: the command of the program.
  /// - Returns: the arguments, for the parser.
  /// - Throws: `ValidationError` if no command is meant. It names the nearest one.
  package static func named(
    _ arguments: [String], of root: any ParsableCommand.Type
  ) throws -> [String] {
    if let first = arguments.first, ["version", "-v", "-V"].contains(first) {
      return ["--version"]
    }
    var arguments = arguments
    var command = root
    var path = [root._commandName]
    for place in arguments.indices {
      let word = arguments[place]
      let commands = command.configuration.subcommands
      guard !commands.isEmpty, !word.hasPrefix("-") else { break }
      if path.count == 1, place == 0, word == "help" { continue }
      guard let found = meant(by: word, of: commands) else {
        throw ValidationError(refusal(of: word, after: path, commands))
      }
      arguments[place] = found._commandName
      path.append(found._commandName)
      command = found
      if place == 0, arguments.count > 1,
        let other = paths[[found._commandName, arguments[1].lowercased()]]
      {
        return other + arguments.dropFirst(2)
      }
    }
    return arguments
  }

  private static func meant(
    by word: String, of commands: [any ParsableCommand.Type]
  ) -> (any ParsableCommand.Type)? {
    func named(_ name: String) -> (any ParsableCommand.Type)? {
      commands.first { $0._commandName == name || $0.configuration.aliases.contains(name) }
    }
    let word = word.lowercased()
    let singular = word.hasSuffix("s") ? String(word.dropLast()) : word
    let names = [word, "\(word)s"] + (words[word] ?? []) + [singular] + (words[singular] ?? [])
    return names.lazy.compactMap(named).first
  }

  private static func refusal(
    of word: String, after path: [String], _ commands: [any ParsableCommand.Type]
  ) -> String {
    let before = path.joined(separator: " ")
    let near = commands.map { command in
      let name = command._commandName
      return (name: name, edits: edits(from: Array(word.utf8.prefix(40)), to: Array(name.utf8)))
    }
    .filter { $0.edits <= (word.utf8.count < 4 ? 1 : 2) || $0.name.hasPrefix(word) }
    .min { $0.edits < $1.edits }
    let advice =
      near.map { "Did you mean \"\(before) \($0.name)\"?" } ?? "\"\(before) --help\" lists all."
    return "There is no command \"\(before) \(word)\". \(advice)"
  }

  /// Returns how many bytes differ: added, removed or replaced ones.
  private static func edits(from word: [UInt8], to name: [UInt8]) -> Int {
    var row = Array(0...name.count)
    for (line, byte) in word.enumerated() {
      var corner = row[0]
      row[0] = line + 1
      for column in name.indices {
        let replaced = corner + (name[column] == byte ? 0 : 1)
        corner = row[column + 1]
        row[column + 1] = min(replaced, corner + 1, row[column] + 1)
      }
    }
    return row[name.count]
  }

  /// Commands whose two words stand for others.
  private static let paths = [
    ["user", "search"]: ["search"],
    ["user", "devices"]: ["device", "list"], ["user", "sessions"]: ["session", "list"],
    ["audit", "list"]: ["audit"], ["events", "list"]: ["events"],
    ["rate-limit", "clear"]: ["rate-limit", "reset"],
  ]

  /// The names that a word can stand for; the first that there is counts.
  private static let words = [
    "ls": ["list"], "all": ["list"],
    "get": ["show"], "view": ["show", "list"], "info": ["show", "doctor"], "describe": ["show"],
    "cat": ["show"], "read": ["show"], "find": ["show", "search"], "lookup": ["show", "search"],
    "show": ["list"],
    "add": ["create", "set"], "new": ["create"], "make": ["create"], "register": ["create"],
    "invite": ["create"], "start": ["create"],
    "update": ["set"], "edit": ["set"], "modify": ["set"], "change": ["set"], "configure": ["set"],
    "rm": ["delete"], "remove": ["delete"], "del": ["delete"], "destroy": ["delete"],
    "drop": ["delete"], "erase": ["delete"], "revoke": ["delete", "end"], "kill": ["end", "stop"],
    "cancel": ["stop"],
    "ban": ["block"], "lock": ["block"], "suspend": ["block"], "disable": ["block"],
    "unban": ["unblock"], "unlock": ["unblock"], "enable": ["unblock"], "activate": ["unblock"],
    "signout": ["logout"], "sign-out": ["logout"], "kick": ["logout"],
    "why": ["explain"], "debug": ["explain"], "diagnose": ["explain", "doctor"],
    "passwd": ["password"], "set-password": ["password"], "reset-password": ["password"],
    "mfa": ["second-factors"], "2fa": ["second-factors"], "factor": ["second-factors"],
    "secret": ["rotate"], "rotate-secret": ["rotate"], "reset-secret": ["rotate"],
    "limit": ["rate-limit"], "ratelimit": ["rate-limit"],
    "admin": ["administrator"], "log": ["audit"], "history": ["audit"],
    "status": ["doctor"], "health": ["doctor"], "check": ["doctor"],
    "stat": ["statistics"], "metric": ["statistics"],
    "email": ["mail"], "outbox": ["mail"], "queue": ["mail"],
    "apis": ["resource-server"], "application": ["client"], "setting": ["app"],
    "provider": ["connection"], "idp": ["connection", "issuer"], "social": ["connection"],
    "feed": ["events"], "config": ["app"], "hook": ["webhook"],
    "backup": ["export-config"], "export": ["export-config"], "request": ["api"],
  ]
}
