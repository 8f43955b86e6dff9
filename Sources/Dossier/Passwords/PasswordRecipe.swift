import Notation

/// 16 bytes that go into the hash of a password.
struct PasswordSalt: Sendable, Hashable {
  let bytes: [UInt8]

  /// For hashes that are kept nowhere.
  static let none = PasswordSalt(bytes: [UInt8](repeating: 0, count: length))

  static let length = 16
}

extension MasterKey {
  /// The salt of all passwords that come with one address in an app; `address` is its key.
  ///
  /// Several users may claim an address, each with a password of its own. By one salt, one hash of
  /// what somebody types is compared with all of theirs, so that the time of a login does not tell
  /// how many there are, or whether there is any; and since nothing is looked up for it, two who
  /// register at once cannot come by two salts.
  func passwordSalt(_ app: AppID, _ address: String) -> PasswordSalt {
    PasswordSalt(bytes: Array(passwordSalt("\(app) \(address)").prefix(PasswordSalt.length)))
  }
}

/// All that a hash of ours is made by but the password: Argon2id in one lane.
struct PasswordRecipe: Sendable, Hashable {
  let cost: HashingCost
  let salt: PasswordSalt
  static let keyLength = 32

  init(_ cost: HashingCost, _ salt: PasswordSalt) {
    self.cost = cost
    self.salt = salt
  }

  /// What a hash by this recipe begins with, in the PHC string format.
  var start: String {
    "$argon2id$v=19$m=\(cost.memory),t=\(cost.passes),p=1$\(salt.bytes.base64)$"
  }
}

extension PasswordHash {
  /// By what it was made; nil for a hash that is not of the form of ours.
  var recipe: PasswordRecipe? {
    let fields = text.split(separator: "$", omittingEmptySubsequences: false)
    guard case .argon2(let memory, let passes, lanes: 1) = algorithm, fields.count == 6,
      let salt = [UInt8](hashed: fields[4]), salt.count == PasswordSalt.length,
      [UInt8](hashed: fields[5])?.count == PasswordRecipe.keyLength
    else { return nil }
    let cost = HashingCost(memory: memory, passes: passes)
    let recipe = PasswordRecipe(cost, PasswordSalt(bytes: salt))
    return text.hasPrefix(recipe.start) ? recipe : nil
  }
}
