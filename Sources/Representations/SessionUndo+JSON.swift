package import Documents
package import JSON
import Runtime

extension DocumentUndo {
  package var json: JSON {
    [
      "version": .number(JSONNumber(version)), "outcome": .string(outcome.rawValue),
      "changes": .array(changes.map { Self.member($0.pointer, $0.now, $0.after) }),
      "conflicts": .array(conflicts.map(Self.conflict)),
      "not_writable": .array(notWritable.map(JSON.string)), "more": .bool(hasMore),
      "complete": .bool(isComplete), "obstacle": JSON(obstacle?.rawValue),
    ]
  }

  /// Returns a member with the values that exist.
  private static func member(_ pointer: String, _ now: JSON?, _ after: JSON?) -> JSON {
    var object = JSONObject([("pointer", .string(pointer))])
    object["now"] = now
    object["after"] = after
    return .object(object)
  }

  private static func conflict(_ conflict: Conflict) -> JSON {
    var object =
      member(conflict.pointer, conflict.now, conflict.after).object ?? JSONObject()
    object["actor"] = JSON(conflict.writer?.actor)
    object["session_id"] = JSON(conflict.writer?.session?.text)
    object["changed_at"] = JSON(conflict.writer?.changedAt.text)
    return .object(object)
  }
}
