import Configuration
import Documents
import EventLoop
import Postgres
import ReferenceData
import Runtime
import Tenancy
import Transfer

/// The tasks of a worker beside its requests.
extension Worker {
  /// Reads the lists of passwords, languages and time zones.
  ///
  /// The first request that needs them waits for the rest.
  func readLists() async {
    if case .failure(let error) = try? await files.run({ ReferenceLists.ofProcess }) {
      Log.write("error", "\(error)")
    }
  }

  /// Runs the maintenance about once an hour.
  ///
  /// It deletes expired data. One worker per supervisor runs it, at times that differ between
  /// hosts.
  func keepHouse() {
    EventLoop.task { [database] in
      let maintenance = Maintenance(database)
      while true {
        await EventLoop.sleep(for: .seconds(Int.random(in: 1_800...5_400)))
        do throws(Failure) {
          try await SearchIndexes.finishAll(in: database)
        } catch {
          Log.write("error", "search indexes: \(error)")
        }
        let report = await maintenance.run()
        if !report.removed.isEmpty { Log.write("info", "removed: \(report.removed)") }
        for fault in report.faults.sorted() { Log.write("error", "maintenance: \(fault)") }
      }
    }
  }

  /// Records every ten minutes which settings this host uses.
  func recordHost() {
    EventLoop.task { [database, fingerprint = configuration.fingerprint] in
      while true {
        do throws(DatabaseError) {
          try await Hosts.record(HostName.own, version: Version.text, fingerprint, in: database)
          await EventLoop.sleep(for: .seconds(600))
        } catch {
          // The log already has the database's error.
          await EventLoop.sleep(for: .seconds(10))
        }
      }
    }
  }
}
