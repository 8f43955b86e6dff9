import FoundationEssentials
import ReferenceData
import Testing

@Suite struct ReferenceListsTests {
  private static let read = Result { () throws(ReferenceListError) in try ReferenceLists() }
  private let lists: ReferenceLists

  init() throws { lists = try Self.read.get() }

  @Test(arguments: [
    // Appendix A of RFC 5646, without tags that have no language of ISO 639.
    "de", "fr", "ja", "zh-Hant", "zh-Hans", "sr-Cyrl", "sr-Latn", "zh-cmn-Hans-CN", "cmn-Hans-CN",
    "zh-yue-HK", "yue-HK", "zh-Hans-CN", "sr-Latn-RS", "sl-rozaj", "sl-rozaj-biske", "sl-nedis",
    "de-CH-1901", "sl-IT-nedis", "hy-Latn-IT-arevela", "de-DE", "en-US", "es-419",
    "de-CH-x-phonebk", "az-Arab-x-AZE-derbend", "qaa-Latn-x-southern", "en-US-u-islamcal",
    "zh-CN-a-myext-x-private", "en-a-myext-b-another", "sr-Latn-x-1",
    // Upper and lower case, three letters, and numbers of countries and areas.
    "EN-gb", "ZH-hANT-tw", "deu", "gsw-CH", "en-001", "en-150", "de-276", "sgn-ase",
    "en-US-u-ca-gregory-nu-latn-t-de-x-a", "sq-XK", "en-EU", "en-ZZ",
  ])
  func `a locale is a language tag with existing codes`(locale: String) {
    #expect(lists.fault(inLocale: locale) == nil)
  }

  @Test(arguments: [
    ("en_GB", "hyphens"), ("pt_BR.UTF-8", "hyphens"), ("C", "BCP 47"), ("POSIX", "BCP 47"),
    ("", "BCP 47"), ("-", "BCP 47"), ("en-", "BCP 47"), ("-en", "BCP 47"), ("en--GB", "BCP 47"),
    ("en GB", "BCP 47"), ("én", "BCP 47"), ("e", "BCP 47"), ("English", "BCP 47"),
    ("x-whatever", "BCP 47"), ("i-klingon", "BCP 47"), ("en-GB-US", "BCP 47"),
    ("en-Latn-Cyrl", "BCP 47"), ("en-GB-Latn", "BCP 47"), ("en-GB-12", "BCP 47"),
    ("en-GB-123456789", "BCP 47"), ("en-x", "BCP 47"), ("en-u", "BCP 47"), ("en-u-x-a", "BCP 47"),
    ("en-a-bb-a-cc", "BCP 47"), ("de-1901-1901", "BCP 47"), ("sl-rozaj-ROZAJ", "BCP 47"),
    ("en-USA", "BCP 47"), ("zh-cmn-yue", "BCP 47"),
    ("xx", "ISO 639 has no language xx"), ("qua-qtz", "BCP 47"), ("zzz-DE", "language zzz"),
    ("zh-zzz", "language zzz"), ("en-Abcd", "ISO 15924 has no script Abcd"),
    ("en-UK", "have no region UK"), ("en-ZK", "region ZK"), ("es-999", "region 999"),
  ])
  func `an invalid locale is refused with the reason`(locale: String, words: String) throws {
    let fault = try #require(lists.fault(inLocale: locale))
    #expect(fault.contains(words), "\(locale): \(fault)")
  }

  @Test(arguments: [
    "UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Calcutta",
    "Asia/Kolkata", "US/Eastern", "Etc/GMT+5", "America/Port-au-Prince", "Europe/Kyiv",
  ])
  func `a zone is a name of the tz database`(zone: String) {
    #expect(lists.fault(inZone: zone) == nil)
  }

  @Test(arguments: [
    "", "utc", "europe/berlin", "Europe", "Europe/", "Europe/Berlin ", "Berlin", "+01:00", "GMT+5",
    // K as U+212A, which Swift compares as equal to the letter.
    "Asia/\u{212A}olkata", "CEST", "Mars/Olympus", "tzdata.zi", "../zoneinfo/UTC",
    "posix/Europe/Berlin", "E", "Z",
  ])
  func `an unknown zone is refused`(zone: String) {
    #expect(lists.fault(inZone: zone) != nil)
  }

  @Test func `the zones in use are valid, and have neither old names nor technical ones`() {
    #expect(lists.zonesInUse.count > 300)
    #expect(lists.zonesInUse.allSatisfy { lists.fault(inZone: $0) == nil })
    for zone in ["Europe/Berlin", "Europe/Oslo", "America/Argentina/Buenos_Aires", "UTC"] {
      #expect(lists.zonesInUse.filter { $0 == zone }.count == 1, "\(zone)")
    }
    for zone in ["Asia/Calcutta", "US/Eastern", "Etc/GMT+5", "CET"] {
      #expect(!lists.zonesInUse.contains(zone), "\(zone)")
    }
  }

  @Test func `the error for a missing or damaged file names its package`() throws {
    let folder = "/tmp/dossier-lists-\(UInt64.random(in: 0 ... .max))"
    let files = FileManager.default
    defer { try? files.removeItem(atPath: folder) }
    func refusal() -> String {
      do throws(ReferenceListError) {
        _ = try ReferenceLists(in: folder)
        return "none"
      } catch {
        return error.description
      }
    }
    func write(_ path: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(path)"))
    }
    #expect(
      refusal()
        == "\(folder)/share/zoneinfo/tzdata.zi cannot be read: it is in Debian's package tzdata"
    )
    let passwords = "lib/python3/dist-packages/zxcvbn"
    for name in ["share/zoneinfo", "share/iso-codes/json", passwords] {
      try files.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    try write("share/zoneinfo/tzdata.zi", "# nothing\n")
    #expect(refusal().contains("tzdata.zi"))
    try write("share/zoneinfo/tzdata.zi", "Z Etc/UTC 0 - UTC\nL Etc/UTC UTC\n")
    #expect(refusal().contains("zone.tab"))
    try write("share/zoneinfo/zone.tab", "# XX\t+0\tNot/This\nDE\t+5230+01322\n")
    #expect(refusal().contains("zone.tab"))
    try write("share/zoneinfo/zone.tab", "DE\t+5230+01322\tEurope/Berlin\tmost of Germany\n")
    for name in ["639-2", "639-3", "639-5", "15924", "3166-1"] {
      let path = "share/iso-codes/json/iso_\(name).json"
      #expect(refusal() == "\(folder)/\(path) cannot be read: it is in Debian's package iso-codes")
      try write(path, "{}")
      #expect(refusal().contains(path))
      try write(
        path,
        #"{"\#(name)": [{"alpha_2": "AA", "alpha_3": "aaa", "alpha_4": "Aaaa", "numeric": "998"}]}"#
      )
    }
    let file = "\(passwords)/frequency_lists.py"
    #expect(
      refusal() == "\(folder)/\(file) cannot be read: it is in Debian's package python3-zxcvbn"
    )
    try write(file, "FREQUENCY_LISTS = {}\n")
    #expect(refusal().contains(file))
    try write(file, #"FREQUENCY_LISTS = {"passwords": "first,second","names": "third"}"#)
    let few = try ReferenceLists(in: folder)
    #expect(few.fault(inLocale: "aaa-AAAA-aa") == nil)
    #expect(few.fault(inLocale: "en") != nil)
    #expect(few.fault(inZone: "Etc/UTC") == nil)
    #expect(few.zonesInUse == ["Europe/Berlin", "UTC"])
    #expect(few.fault(inZone: "Europe/Berlin") != nil)
    let all = ["first", "second", "SECOND", "third", "", "irst", "first,second", "names"]
    #expect(all.filter(few.passwords.contains) == ["first", "second", "SECOND", "third", "names"])
  }

  @Test(arguments: [
    ("password", true), ("PassWord", true), ("12345678", true), ("qwertyuiop", true),
    ("michelle", true), ("87654321", true), ("abcdefgh", true), ("ABCDEFGH", true),
    ("00000000", true), ("asdasdasd", true), ("19871987", true), ("1231231", true),
    (String(repeating: "a", count: 1_024), true),
    (String(repeating: "asdf", count: 255) + "as", true),
    (String(repeating: "asdf", count: 255) + "x", false), ("aabaab", true), ("aabaaab", false),
    ("a", false),
    ("abcdefgi", false), ("asdfasdfx", false), ("aXaYaZaW", false),
    ("trustno1", true), ("p@ssw0rd", true), ("iloveyou1", true), ("123456,password", false),
    ("Password1!", true), ("letmein123", true), ("P@ssw0rd1", true), ("Summer2024!", true),
    ("1!password1!", true), ("password12345", true), ("password123456", false),
    ("#12345password", false), ("correct1horse!", false), ("!1!2!3!4", false),
    ("passwordpassword ", true), ("correct horse battery", false), ("pa\u{301}ssword", false),
    (",", false), ("", false), ("ＰＡＳＳＷＯＲＤ", false),
  ])
  func `a common password is in a list or follows a pattern`(password: String, isCommon: Bool) {
    #expect(lists.passwords.contains(password) == isCommon)
  }
}
