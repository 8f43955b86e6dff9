import EventLoop
import Glibc

/// The check of nginx's configuration by `nginx -t`.
enum NginxTest {
  private static let program = "/usr/sbin/nginx"

  /// Runs the test.
  ///
  /// - Parameter folder: the folder of nginx.conf.
  /// - Returns: nil if nginx or nginx.conf is missing.
  static func finding(_ folder: String) -> Doctor.Finding? {
    let file = "\(folder)/nginx.conf"
    guard access(program, X_OK) == 0, access(file, F_OK) == 0 else { return nil }
    let test = Subprocess(path: program, ["-t", "-q", "-e", "stderr", "-c", file])
    guard let run = try? test.run(limit: 65_536, deadline: .seconds(10)), run.ending != .outOfTime
    else { return Doctor.Finding("nginx -t", "it did not finish within 10 s") }
    guard run.ending != .exited(0) else { return Doctor.Finding("nginx -t") }
    let lines = String(decoding: run.complaint, as: UTF8.self).split(separator: "\n")
    let fault = lines.first { $0.contains("[emerg]") } ?? lines.last ?? "it gave no message"
    // nginx reads all directives before it opens keys and logs, which only root may read.
    if geteuid() != 0, fault.contains("(13: Permission denied)") || fault.contains("(1: Operation")
    {
      return Doctor.Finding("nginx -t")
    }
    return Doctor.Finding(
      "nginx -t",
      "\(fault): correct the file; until then nginx keeps its old configuration, and cannot restart"
    )
  }
}
