import EventLoop

/// What comes of comparing a password with stored hashes.
struct PasswordMatch: Sendable {
  typealias Foreign = (cost: String, time: UInt64)

  /// The place of the first hash that is of the password.
  let index: Int?
  /// The hash of the password by the recipe of new ones.
  let hash: String
  /// Whether the one found was made otherwise, and `hash` is to take its place.
  let isOutdated: Bool
  /// What was computed besides `hash`: its class, and nanoseconds.
  let foreign: [Foreign]
}

/// The work of comparing a password with the hashes of all who come with one address.
struct PasswordComparison: Sendable {
  private let recipe: PasswordRecipe
  private let stored: [PasswordHash?]
  /// How many hashes are computed besides the one that new ones are made by.
  ///
  /// Only imports, and a change of the cost, leave such hashes; those of one recipe are computed
  /// once. More of them than this for one address cannot log in by it until their reader of mail
  /// chooses a password.
  private static let limit = 8

  init(_ recipe: PasswordRecipe, _ stored: [String]) {
    self.recipe = recipe
    self.stored = stored.map { try? PasswordHash($0) }
  }

  /// Holds up its thread.
  ///
  /// - Returns: nil when there is no memory.
  func run(_ password: String) -> PasswordMatch? {
    guard let hash = recipe.cost.hash(password, recipe.salt) else { return nil }
    var made: [PasswordRecipe: String?] = [recipe: hash]
    var foreign: [PasswordMatch.Foreign] = []
    var found: Int?
    for (index, stored) in stored.enumerated() {
      guard let stored else { continue }
      // All are looked at, also when one was found: which is not told by the time.
      if isRight(password, stored, &made, &foreign), found == nil { found = index }
    }
    return PasswordMatch(
      index: found,
      hash: hash,
      isOutdated: found.map { stored[$0]?.recipe != recipe } ?? false,
      foreign: foreign
    )
  }

  private func isRight(
    _ password: String,
    _ stored: PasswordHash,
    _ made: inout [PasswordRecipe: String?],
    _ foreign: inout [PasswordMatch.Foreign]
  ) -> Bool {
    let recipe = stored.recipe
    if let recipe, let text = made[recipe] { return stored.isSame(as: text) }
    guard foreign.count < Self.limit else { return false }
    let start = EventLoop.now()
    defer { foreign.append((stored.costClass, EventLoop.now() - start)) }
    guard let recipe else { return stored.isRight(password) }
    let text = recipe.cost.hash(password, recipe.salt)
    made[recipe] = text
    return stored.isSame(as: text)
  }
}
