import ArgumentParser
import EventLoop
import Glibc
import dossier_migrate
import dossier_streams
import dossierd

/// The programs that are one file: the name that started it says which of them runs.
///
/// Each of them contains most of the modules, so a file for each would be four times as large. The other
/// names are symbolic links, which the package and `link_programs` of `deploy/functions` make.
@main enum Program {
  static func main() {
    let path = CommandLine.arguments.first ?? ""
    switch path.split(separator: "/").last {
    case "dossier": DossierCommand.main()
    case "dossierd": Dossierd.main()
    case "dossier-migrate": DossierMigrate.main()
    case "dossier-streams": DossierStreams.main()
    case let name:
      let names = "dossier, dossierd, dossier-migrate or dossier-streams"
      Output.write("error: start this program as \(names), not as \(name ?? "")\n", to: 2)
      exit(EX_USAGE)
    }
  }
}
