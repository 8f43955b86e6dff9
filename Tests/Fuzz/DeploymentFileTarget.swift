@testable import DeploymentFiles
import Delivery
import JSON
import Records

extension FuzzTarget {
  /// A file for `dossier apply`.
  static let deploymentFiles = FuzzTarget(
    "deployment-files",
    words: [
      "apps:", "clients:", "settings:", "hosts:", "schemas:", "indexes:", "apis:", "roles:",
      "issuers:", "permissions:", "grants:", "secret:", "{env: X}", "{file: x}", "&a", "*a",
      "!!str",
      "<<:", "---", "|", "|-", ">", "? ", "- ", "\n  ", "\n    ", "{", "}", "[", "]", "\"\\u2028\"",
      "null", "~", "yes", "api/v2/", "kind: web", "metadata", "\t", "#",
    ],
    bound: MemoryBound(factor: 2_000, base: 4_194_304)
  ) { input in
    let kinds = Kind.all(settings: RecordShape([MailSettings.self]))
    for name in ["file.yaml", "file.json"] {
      do throws(FileFaults) {
        let file = try DeploymentFile(input, name: name)
        var reader = YAMLReader()
        let written = YAMLWriter(file.json).text
        let again = try? reader.read(Array(written.utf8))
        // A number may have another spelling, and JSON the depth that YAML has not.
        let isSame = again.map { $0 == file.json } ?? (name == "file.json")
        expect(isSame, "changed by writing: \(written)")
        let declared = try Declarations([file], kinds)
        let twice = try Declarations([file, file], kinds)
        expect(twice.records.count == declared.records.count, "a file differs from itself")
        for prunes in [false, true] {
          let plan = try Plan(declared, [], kinds, .init(prunes: prunes, sendsSecrets: prunes))
          for step in plan.steps {
            expect(step.action != .delete, "nothing is there to delete")
            for source in step.declaration?.secrets.values ?? [:].values {
              expect((source.variable == nil) != (source.path == nil), "a secret with two sources")
            }
            _ = (step.description, step.patch, step.scopes)
          }
        }
      } catch {
        expect(!error.lines.isEmpty, "refused without a fault")
      }
    }
  }
}
