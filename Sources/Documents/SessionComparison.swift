import EventLoop
import JSON
import Postgres
import Runtime

/// The undo of one document, ready to be written.
struct DocumentUndoPlan: Sendable {
  enum Edit: Equatable, Sendable {
    case keep
    case put([UInt8])
    case remove
  }

  var undo: DocumentUndo
  var edit = Edit.keep
  /// Which of the chosen pointers are no conflicts.
  var unknown: [Int] = []
  /// Why the document after the undo cannot be stored.
  var failure: Failure?

  init(_ undo: DocumentUndo) { self.undo = undo }
}

// MARK: - The comparison

/// The versions of a document, from the one before the first write of a session.
struct ComparedVersions: Sendable {
  let kind: DocumentKind
  let versions: [StoredVersion]
  let session: SessionID
  let isComplete: Bool
  /// The bodies by version, of those versions that are compared.
  var bodies: [Int: [UInt8]] = [:]
  /// The present document, if a version of it was not kept; nil inside if it does not exist.
  var unkept: StoredDocument??

  /// The stored version; 0 if there is no document.
  private var version: Int {
    if let unkept { return unkept?.version ?? 0 }
    guard let last = versions.last, !last.isCurrentDeleted else { return 0 }
    return last.currentVersion
  }

  func obstructed(by obstacle: DocumentUndo.Obstacle) -> DocumentUndo {
    var undo = DocumentUndo(kind: kind, version: version, isComplete: isComplete)
    undo.obstacle = obstacle
    return undo
  }

  /// The versions whose bodies are compared: of consecutive writes of the session, the last.
  private var compared: [Int] {
    versions.indices.filter { index in
      !versions[index].isDeleted
        && !(versions[index].session == session && index + 1 < versions.count
          && versions[index + 1].session == session)
    }.map { versions[$0].version }
  }

  /// Reads the bodies; returns false if they are too long.
  @EventLoop mutating func readBodies(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let wanted = compared
    var bytes = 0
    for start in stride(from: 0, to: wanted.count, by: SessionUndo.batch) {
      let part = Array(wanted[start..<min(start + SessionUndo.batch, wanted.count)])
      let rows = try await context.read(
        SessionUndoQueries.bodies, user, context.principal, kind, NumberArray(part), on: .large)
      for row in rows {
        bodies[row.version] = row.body
        bytes += row.body.count
      }
      guard rows.count == part.count, bytes <= SessionUndo.mostBytes else { return false }
    }
    return true
  }

  /// Compares the versions, and returns the undo with the chosen conflicts.
  func plan(
    _ access: MemberAccess?, _ rule: DocumentRule, choosing chosen: [String]
  ) throws(Failure) -> DocumentUndoPlan {
    func shown(_ body: [UInt8]?) throws(Failure) -> JSON? {
      guard let body else { return nil }
      let document = try Documents.parsed(body)
      return access?.visible(in: document) ?? document
    }
    let start = versions[0].session == session ? 0 : 1
    var replay = SessionReplay(
      try shown(start == 0 ? nil : bodies[versions[0].version]))
    for index in start..<versions.count {
      let version = versions[index]
      if version.session == session {
        let isLast = index + 1 == versions.count || versions[index + 1].session != session
        if isLast { replay.passSession(to: try shown(bodies[version.version])) }
      } else {
        replay.pass(to: try shown(bodies[version.version]), by: version.listed)
      }
    }
    if let unkept { replay.pass(to: try shown(unkept?.body), by: nil) }
    let stored = unkept.map { $0?.body } ?? versions.last.flatMap { bodies[$0.version] }

    var undo = DocumentUndo(kind: kind, version: version, isComplete: isComplete)
    undo.hasMore = replay.hasMore
    var refused = PointerList()
    for conflict in replay.standingConflicts {
      if access?.mayWrite(conflict.place) ?? true {
        undo.conflicts.append(conflict.shown)
      } else {
        undo.notWritable.append(conflict.pointer)
      }
    }
    var plan = DocumentUndoPlan(undo)
    var after = replay.without
    for (index, pointer) in chosen.enumerated() {
      if let conflict = undo.conflicts.first(where: { $0.pointer.hasSameBytes(as: pointer) }),
        let place = JSONPointer(pointer)
      {
        after = after.setting(conflict.after, at: place.tokens[...])
      } else {
        plan.unknown.append(index)
      }
    }
    let now = replay.now
    if let access { after = access.allowed(after, insteadOf: now, &refused) }
    var places = PointerList()
    places.addDifferences(from: now ?? [:], to: after ?? [:])
    plan.undo.changes = places.pointers.map { pointer in
      let place = JSONPointer(pointer)
      return DocumentUndo.Change(
        pointer: pointer, now: now.member(at: place), after: after.member(at: place))
    }
    plan.undo.notWritable += refused.pointers
    if places.hasMore || refused.hasMore { plan.undo.hasMore = true }
    guard now != after else { return plan }
    plan.undo.outcome = after == nil ? .deleted : now == nil ? .created : .changed
    let before = try stored.map { (body) throws(Failure) in try Documents.parsed(body) }
    let edit = after.map(DocumentEdit.put) ?? .remove
    do throws(Failure) {
      switch try access?.result(of: edit, on: before) ?? edit {
      case .keep: break
      case .put(let json): plan.edit = .put(try rule.text(ofMember: json))
      case .remove: plan.edit = .remove
      }
    } catch let failure where failure.is(.schemaMismatch) {
      (plan.undo.obstacle, plan.failure) = (.schemaMismatch, failure)
    }
    return plan
  }
}

/// A document as it is, and as it would be without the writes of one session.
struct SessionReplay: Sendable {
  /// The document in the version that was passed last; nil if it did not exist.
  private(set) var now: JSON?
  /// The document without the writes of the session.
  private(set) var without: JSON?
  /// Whether there are more conflicts than `PointerList.most`.
  private(set) var hasMore = false
  private var conflicts: [Conflict] = []

  struct Conflict: Sendable {
    let pointer: String
    let place: JSONPointer
    /// The value before the session.
    let before: JSON?
    fileprivate(set) var now: JSON?
    fileprivate(set) var writer: DocumentVersion?

    var shown: DocumentUndo.Conflict {
      DocumentUndo.Conflict(pointer: pointer, now: now, after: before, writer: writer)
    }
  }

  /// - Parameter document: the document before the first write of the session.
  init(_ document: JSON?) { (now, without) = (document, document) }

  /// Passes writes of the session.
  mutating func passSession(to next: JSON?) { now = next }

  /// Passes a write of another writer, whose changes stay.
  mutating func pass(to next: JSON?, by writer: DocumentVersion?) {
    for index in conflicts.indices {
      let value = next.member(at: conflicts[index].place)
      if now.member(at: conflicts[index].place) != value { conflicts[index].writer = writer }
    }
    defer { now = next }
    guard now != without else { return without = next }
    let former = without
    var found: [String]
    if let next {
      let merge = DocumentMerge(
        base: now ?? [:], theirs: without ?? [:], mine: next, isRemovalEmpty: true)
      (found, hasMore) = (merge.conflicts, hasMore || merge.hasMore)
      let isEmpty = merge.merged.object?.count == 0
      without = isEmpty && former == nil ? nil : merge.merged
    } else {
      var places = PointerList()
      places.addDifferences(from: now ?? [:], to: without ?? [:])
      (found, hasMore) = (places.pointers, hasMore || places.hasMore)
      without = nil
    }
    conflicts.removeAll { old in found.contains { $0.hasSameBytes(as: old.pointer) } }
    for pointer in found {
      guard conflicts.count < PointerList.most, let place = JSONPointer(pointer) else {
        hasMore = true
        continue
      }
      conflicts.append(
        Conflict(
          pointer: pointer, place: place, before: former.member(at: place), now: nil,
          writer: writer))
    }
  }

  /// The conflicts that neither a later write of the session nor the undo decides.
  var standingConflicts: [Conflict] {
    conflicts.compactMap { conflict in
      var conflict = conflict
      conflict.now = now.member(at: conflict.place)
      guard conflict.now == without.member(at: conflict.place), conflict.now != conflict.before,
        without.hasRoom(for: conflict.place)
      else { return nil }
      return conflict
    }
  }
}

extension Optional<JSON> {
  /// Returns a member inside objects; nil if it does not exist.
  fileprivate func member(at place: JSONPointer?) -> JSON? {
    guard let place else { return nil }
    var value = self
    for key in place.tokens { value = value?.object?[key] }
    return value
  }

  /// Whether a member can be set here: what encloses it are objects, or does not exist.
  fileprivate func hasRoom(for place: JSONPointer) -> Bool {
    var value = self
    for key in place.tokens {
      guard value == nil || value?.object != nil else { return false }
      value = value?.object?[key]
    }
    return true
  }

  /// Returns the document with a member set, or removed for nil.
  fileprivate func setting(_ value: JSON?, at keys: ArraySlice<String>) -> JSON? {
    guard let key = keys.first else { return value }
    if self == nil, value == nil { return nil }
    var object = self?.object ?? JSONObject()
    object[key] = object[key].setting(value, at: keys.dropFirst())
    return .object(object)
  }
}
