import EventLoop
import JSON
import Postgres

extension Users {
  /// The user whom a typed password belongs to, as the database had it at that moment.
  struct Match {
    /// The stored password that matches; nil without one.
    let found: StoredPassword?
    /// The hash that replaces the stored one, if that was made differently.
    let renewed: String?
    /// The hash of the password, for a new user.
    let hash: String
    /// Who has proved the address, and whose failure it is when it is nobody's password: who only
    /// claims it would see from its trail that nobody came before, and from where others come.
    let holder: UserID?
    let address: EmailAddress
    /// The guard that counted the attempt; nil for a registration.
    let guarding: FailureGuard?
    /// The password as the user typed it.
    let password: String
    /// The hashes that it was compared with.
    let seen: Set<ExactString>
    /// Whether the password is compared with no hash, and so matches no user.
    let isBlind: Bool
    /// Whether one has come since then of which only the password itself can tell whether it is the
    /// same: that of another program, from an import.
    var hasStranger = false

    static func holder(among candidates: [StoredPassword]) -> UserID? {
      candidates.first.flatMap { $0.isConfirmed ? $0.user : nil }
    }

    /// The same password among those who come with the address by now.
    ///
    /// No attempt is counted, and nothing hashed but for an import that came since: whoever else has
    /// come with this password, or has it from who had it, has one of the two hashes that are known.
    func anew(_ context: Context) async throws(Failure) -> Match {
      // On the exclusive lane: this must see what another call has just written.
      let candidates = try await context.store.write(
        UsersQueries.passwords,
        context.app.id,
        address.key
      )
      let now = anew(among: candidates)
      guard now.hasStranger, !isBlind else { return now }
      return try await Users.compare(password, with: candidates, at: address, guarding, context)
    }

    /// Does the same in a transaction that has locked the address.
    func anew(_ context: Context, in transaction: Transaction) async throws(DatabaseError) -> Match
    {
      anew(among: try await transaction.run(UsersQueries.passwords, context.app.id, address.key))
    }

    private func anew(among candidates: [StoredPassword]) -> Match {
      let known = isBlind ? [] : [hash, found?.hash].compactMap(\.self)
      let found = candidates.first { candidate in
        known.contains { $0.hasSameBytes(as: candidate.hash) }
      }
      let recipe = try? PasswordHash(hash).recipe
      let hasStranger = candidates.contains { candidate in
        guard !isBlind, !seen.contains(ExactString(candidate.hash)),
          let stored = try? PasswordHash(candidate.hash)
        else { return false }
        return stored.recipe != recipe
      }
      return Match(
        found: found,
        renewed: found.flatMap { $0.hash.hasSameBytes(as: hash) ? nil : hash },
        hash: hash,
        holder: Self.holder(among: candidates),
        address: address,
        guarding: guarding,
        password: password,
        seen: seen,
        isBlind: isBlind,
        hasStranger: found == nil && hasStranger
      )
    }
  }
}
