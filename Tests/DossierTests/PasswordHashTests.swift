import CCrypt
import PasswordHashes
import Testing

/// Tests hashes that other programs made: bcrypt 5, passlib, argon2-cffi and Python's hashlib.
@Suite struct PasswordHashTests {
  private static let password = "pässwörd 9"

  @Test(arguments: [
    "$2a$05$foSiN26zrJmyT5yq4Egg1e6rCf2W3TvztkXxFQM4Dmylzd9DD07o2",
    "$2b$05$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW",
    "$2y$05$dI5JocYp6trM2qrU79oFg.GRHtnzTsLeY1WPA00RQpJxtW4CEcg3G",
    "$5$rounds=1000$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0D",
    "$5$OriXP3odJIuoGBtt$pHVNPQ2L3v2OVX3ODmhtll6qtVZRwZjilKOliE7ZGxA",
    "$6$rounds=1000$muvSEE5fStEhQ9e6$R8w4vXIcKUX5JJAuS582i4rO8mB/DW6SES6o0cK0HhuLEyAT7W0FOkmpzTOe"
      + "zOlGLQxjI/xEb9A.rUMWDbk4X0",
    "$argon2id$v=19$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2id$v=19$m=1024,t=3,p=4$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "$argon2i$v=19$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$aA1XQkPVcWJl0J5ucrTTYeP8GTw9TPu9",
    "$argon2i$v=19$m=1024,t=3,p=4$c2FsdHNhbHRzYWx0$mIuUvRapXr/lT59NwoPmd0ZzuwlIKgkE",
    "$scrypt$ln=10,r=8,p=1$AAECAwQFBgcICQoLDA0ODxA$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$scrypt$ln=4,r=1,p=3$AAECAwQFBgcICQoLDA0ODxA$lXrPq+bno+HPdlmXdTUyZca2nDI7a/cT7pXDrAM/e94",
    "$scrypt$ln=8,r=8,p=1$/79XqtUaQ0ipdc45x9i7tw$gfOfZbefC70mvKPNAORQf9zQ7RfFMkKFzGC5n0ALXa0",
    "$pbkdf2-sha1$i=1234$+vv8/f7/c2FsdA$10sQzy5tTM5Iq8PgmxUyqf9qPTI",
    "$pbkdf2-sha256$i=1234$+vv8/f7/c2FsdA$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
    "$pbkdf2-sha512$i=1234$+vv8/f7/c2FsdA$j0LClDygTxIdhRBU6JvGesn11ef5UKn/P7HX7OetgYITKTsMovWUTtwC"
      + "mYZhOdUGkWFG5sA0ZFyzCbQB772tdg",
    "$pbkdf2-sha256$1000$GiNkjNH6P0doDYGw9l4rRQ$dZNlm9itCgibqgrZ/U/ujfuhBXycnOTNMvCSGX6fxjM",
    "$pbkdf2$1000$WStFKMXYu3cuRWjt/X/vHQ$aOTS6LmJwpl8AGUHCZc0htpwRj8",
    "$digest-md5$$$mQKXVH2Lhwr51a2o4lvkMw",
    "$digest-sha1$c2FsdA$$Cx/Wm+nG4hov3gP0Qb/GwXEADLQ",
    "$digest-sha256$$c2FsdA$ZV7UgOHXpSVDSwy1NBMDv/8Oblvf+c32QDMRuMhnpCU",
    "$digest-sha384$$$yw6OQBpsqEm43OScvReu5sbTP/2U2CtPshbJ0KDvUXT1kkOokW8xeyrw67PnJANk",
    "$digest-sha512$c2FsdA$$ajzYnX8Nwevsf68dkgQpUwVETzlMre4KOsS6ZMw1ubLnVYobNhP/L0tdGVnkbIOpCSM0pPzt"
      + "CEg9oxKpjG/FWQ",
    "$hmac-md5$a2V5$c2FsdA$$B/7MsAKzZGDWzWXeR8aCDw",
    "$hmac-sha1$a2V5$c2FsdA$$inPJZjQN761Wsc6vbKwGxaJaXrY",
    "$hmac-sha256$a2V5$c2FsdA$$qQKZZgsML1KjdLCUkXTFz0JK2IJPmSjFjTmKyULv1rc",
    "$hmac-sha384$a2V5$c2FsdA$$6OJ4rgioWskLkIcllg6RGtJXkzaRrcXmGnQr9O01wOhtQXPlZvrDeP9cwWyC8unl",
    "$hmac-sha512$a2V5$c2FsdA$$JBK1ALRjr/7UJx1Pt/8tNN18OvCMsjiVcB6eo4ftNVOzLTalxQZKNW6j05UkbIFV0xKq"
      + "XNaOv56CmCxaLL492w",
  ])
  func `a hash of any program verifies its password`(text: String) throws {
    let hash = try PasswordHash.imported(text)
    #expect(hash.isRight(Self.password))
    #expect(!hash.isRight("pässwörd 8"))
    #expect(!hash.isRight(""))
    #expect(!hash.isMade(at: .least))
  }

  /// Forms of other programs of hashes above: parameters in the order of node-argon2, and random
  /// bits where the last digit of a salt or a key of bcrypt has more than it needs.
  @Test(arguments: [
    "$argon2id$v=19$m=1024,p=4,t=3$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "$argon2i$v=19$p=1,t=3,m=1024$c2FsdHNhbHRzYWx0$aA1XQkPVcWJl0J5ucrTTYeP8GTw9TPu9",
    "$argon2id$v=19$m=1024,t=3,p=4$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "$2a$05$foSiN26zrJmyT5yq4Egg1t6rCf2W3TvztkXxFQM4Dmylzd9DD07o2",
    "$2b$05$SDBkp0QWRq9BA/b3SC62GzS3IC2731rwdVmkMnelKCJDuTSqwfqLX",
    "$pbkdf2-sha256$i=1234,l=32$+vv8/f7/c2FsdA$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
  ])
  func `a hash in another form of the same bytes verifies its password`(text: String) throws {
    let hash = try PasswordHash.imported(text)
    #expect(hash.isRight(Self.password))
    #expect(!hash.isRight("pässwörd 8"))
    // The stored form stays.
    #expect(try PasswordHash(hash.text) == hash)
  }

  /// The library repeats all of a hash but its key when it makes one of another password.
  @Test func `no hash is imported that its library would write in another form`() throws {
    let digits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789$=,+- :*"
    var imported = 0
    for (text, length) in [
      ("$2b$04$jdo.7pNsSWmEbYpt9OpJzedxIp9mB.BijaBmcMBdCFPnKMLbaRcvm", 31),
      ("$5$rounds=1000$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0D", 43),
    ] {
      for (place, own) in text.enumerated() where place < text.count - length {
        for digit in digits where digit != own {
          let changed = text.prefix(place) + String(digit) + text.dropFirst(place + 1)
          guard let hash = try? PasswordHash.imported(String(changed)) else { continue }
          let made = String(cString: try #require(crypt("x", hash.text)))
          #expect(made.dropLast(length) == hash.text.dropLast(length), "\(changed)")
          imported += 1
        }
      }
    }
    #expect(imported > 2_000)
  }

  @Test func `bcrypt reads 72 bytes, as in other programs`() throws {
    let hash = try PasswordHash("$2b$04$jdo.7pNsSWmEbYpt9OpJzedxIp9mB.BijaBmcMBdCFPnKMLbaRcvm")
    #expect(hash.isRight(String(repeating: "x", count: 72)))
    #expect(hash.isRight(String(repeating: "x", count: 1_000)))
    #expect(!hash.isRight(String(repeating: "x", count: 71)))
  }

  @Test func `a hash is current only at its own cost`() throws {
    let hash = try PasswordHash(try #require(HashingCost.least.hash(Self.password)))
    #expect(hash.isRight(Self.password))
    #expect(hash.isMade(at: .least))
    #expect(!hash.isMade(at: HashingCost(memory: 19_456, passes: 3)))
    // The operator's cost for new hashes may exceed the limit for imported ones.
    let own = "$argon2id$v=19$m=1048576,t=9,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM"
    #expect(throws: Never.self) { try PasswordHash(own) }
    #expect(throws: PasswordHashError.self) { try PasswordHash.imported(own) }
  }

  @Test(arguments: [
    "", "*", "secret", "$", "$$", "$1$salt$qdWzMOuf8IdR0H0.bqBcG1", "$2x$05$x", "$2b$05$short",
    "$2b$5$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW", "$argon2d$v=19$m=8,t=1,p=1$a$b",
    "$argon2id$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2id$v=19$m=1024,t=0,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2id$v=19$m=16,t=3,p=4$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2id$v=19$m=1024,m=9,t=3,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$scrypt$ln=10,r=8$AAEC$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$scrypt$ln=10,r=8,p=1$AAEC$short", "$scrypt$ln=10,r=8,p=1$A$uK9+0hUgKIHDQKKr8XAdf9rbU0g",
    "$pbkdf2-sha256$i=0$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
    "$pbkdf2-sha256$i=-1$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
    "$pbkdf2-sha256$-1$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
    "$pbkdf2-sha256$i=99999999999999999999$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
    "$5$rounds=1000$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0D ",
    "$digest-md4$$$mQKXVH2Lhwr51a2o4lvkMw", "$digest-sha1$$$mQKXVH2Lhwr51a2o4lvkMw",
    "$digest-md5$$mQKXVH2Lhwr51a2o4lvkMw", "$digest-md5$$$$mQKXVH2Lhwr51a2o4lvkMw",
    "$digest-md5$!$$mQKXVH2Lhwr51a2o4lvkMw", "$hmac-md5$$$mQKXVH2Lhwr51a2o4lvkMw", "$digest$$$",
    "$hmac-md5-x$a2V5$c2FsdA$$B/7MsAKzZGDWzWXeR8aCDw",
    "$2b$+5$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW",
    "$argon2id$v=19$m=1024,t=3,p=4,keyid=1$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "$argon2id$v=19$m=1024,t=3$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "$scrypt$ln=10,r=8,p=1,q=1$AAEC$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$pbkdf2-sha256$+1000$GiNkjNH6P0doDYGw9l4rRQ$dZNlm9itCgibqgrZ/U/ujfuhBXycnOTNMvCSGX6fxjM",
    "$pbkdf2-sha256$i=1000,l=16$GiNkjNH6P0doDYGw9l4rRQ$dZNlm9itCgibqgrZ/U/ujfuhBXycnOTNMvCSGX6fxjM",
    "$5$rounds=1000$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0E",
    "$6$rounds=1000$muvSEE5fStEhQ9e6$R8w4vXIcKUX5JJAuS582i4rO8mB/DW6SES6o0cK0HhuLEyAT7W0FOkmpzTOe"
      + "zOlGLQxjI/xEb9A.rUMWDbk4X2",
    "$6$$rrhm", "$pbkdf2-md5$i=1$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
  ])
  func `an invalid hash is refused`(text: String) {
    #expect(throws: PasswordHashError.self) { try PasswordHash(text) }
  }

  @Test(arguments: [
    "$2b$15$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW",
    "$2b$31$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW",
    "$5$rounds=1000001$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0D",
    "$argon2id$v=19$m=262145,t=1,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2id$v=19$m=262144,t=5,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2i$v=19$m=999999999,t=999999999,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$argon2i$v=19$m=1024,t=3,p=65$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM",
    "$scrypt$ln=19,r=8,p=1$AAEC$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$scrypt$ln=18,r=8,p=3$AAEC$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$scrypt$ln=999999999,r=999999999,p=1$AAEC$uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc",
    "$pbkdf2-sha512$i=2000001$AAEC$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ",
  ])
  func `a hash that needs much time or memory is refused`(text: String) throws {
    #expect(throws: Never.self) { try PasswordHash(text) }
    #expect(throws: PasswordHashError.self) { try PasswordHash.imported(text) }
  }
}
