package import JSON

/// The examples of the reference.
///
/// Ada plays a small game in a browser that she shares with Grace. Both are sample users of
/// `deploy/up --seed`; Charles has just registered.
package enum Example {
  package static let ada = "5eed00000000000000000001"
  package static let grace = "5eed00000000000000000002"
  // Other ids begin with their time of creation.
  package static let charles = "697e0ae0e5087f36371ad13a"
  package static let device = "697deec0e5087f36371ad128"
  package static let session = "697deec0e5087f36371ad127"
  package static let identity = "697deec0e5087f36371ad129"
  package static let apiKey = "697df5c8e5087f36371ad12c"
  package static let signingKey = "697c9d40e5087f36371ad10b"
  package static let signingKeyAfter = "697f0f08e5087f36371ad151"
  package static let app = "697c9d409c01958f8337627f"
  package static let client = "697c9d7c451ae656f03a65f6"
  package static let resourceServer = "697c9d7c0a6be656f03a6607"
  package static let role = "697c9d7d1be7e56f03a66184"
  package static let administrator = "697c9d7d5c3be56f03a6621a"
  package static let administratorLink =
    "https://id.example.com/console/-/start#ds_admin_aX3uwOUIfzY3GtEmA…"
  package static let index = "697c9db8e5087f36371ad12e"
  package static let job = "697f0f08e5087f36371ad170"
  package static let webhook = "697f0f0850c1d8cf8e63b2d2"
  package static let logStream = "697f0f0850c1d8cf8e63b2d7"
  package static let delivery = "000000000000000000000011"
  package static let merge = "697f0f08228148cf8e63b2c1"
  package static let event = "697deec0228148cf8e63b274"
  package static let userCursor =
    "697c9d7d1be7e56f03a66184.MjAyNi0wMS0zMSAxMjowMDowMC4xMzM0ODgrMDA.-created_at"

  /// Shortened.
  package static let changesCursor = "AAAAAAAAAA0AAAAAAAAADQAAAAAAAAAA_Q9cM1tq8d0"

  package static let registered = "2026-01-31T12:00:00.133488+00:00"
  package static let visited = "2026-01-31T14:00:00.480121+00:00"
  package static let played = "2026-02-01T08:30:00.340156+00:00"
  package static let forgotten = "2026-04-02T08:30:00.340156+00:00"
  package static let keyMade = "2026-01-31T12:30:00.340156+00:00"
  package static let appMade = "2026-01-30T12:00:00.634002+00:00"

  package static let accessToken = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.…"
  package static let issuerToken = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.…"
  package static let refreshToken = "ds_refresh_aX3uwOUIfzY3GtEm…"
  package static let deviceSecret = "ds_device_aX3uwOUIfzY3GtEo…"
  package static let keyOfUser = "ds_apikey_aX31yOUIfzY3GtEs…"
  package static let secretOfClient = "ds_client_aXydfEUa5lbwOmX2…"
  package static let verification = "ds_verify_aX3uwOUIfzY3GtEmK…"
  package static let reset = "ds_reset_aX3uwOUIfzY3GtEmR…"
  package static let oldAddress = "ds_restore_aX3uwOUIfzY3GtEmO…"
  package static let mail = "697df5c8e5087f36371ad160"
  package static let factor = "697df5c8e5087f36371ad140"
  package static let totpSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
  package static let totpURI =
    "otpauth://totp/Adventure:ada%40example.org?secret=\(totpSecret)&issuer=Adventure"
  package static let recoveryCodes = [
    "x2fjd8-phw183-cx3bm7-gm96t3", "mne9ka-kjxadz-v4ad05-xk7cfx",
    "x6ynxj-f429rb-w6tc1t-yfewca", "akg5bn-af3fb3-fdtvyk-kf2s2a",
    "ak1kqs-vm2gyg-1d2qj7-21k1g7", "ab11pc-nty2bj-1y6fwy-gyewrn",
    "wy1cvq-9sv3d0-0am7dn-vp0d78", "as74ev-z504jk-0eyq8v-e4ra52",
    "wfxs7k-zyfy9k-zxpte3-74075c", "zkfsby-cytk40-a7vqyt-cnmr86",
  ]
  package static let flow = "ds_flow_aX3uwOUIfzY3GtEmC…"

  package static let email = "ada@example.org"
  package static let password = "correct horse battery"
  package static let newPassword = "another horse battery"
  package static let picture = "/v1/pictures/\(ada)-WjWw66VXwseTZsAy.jpg"
  package static let networkAddress = "203.0.113.7"
  package static let agent =
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

  package static let profile: JSON = [
    "id": .string(ada), "created_at": .string(registered), "updated_at": .string(played),
    "version": 3, "anonymous": false, "blocked": false, "email": .string(email),
    "email_verified": true, "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
    "nickname": "countess", "phone": .null, "locale": "en-GB", "zone": "Europe/London",
    "picture": .string(picture),
  ]

  package static let tokens = refreshed.with(["device_secret": .string(deviceSecret)])
  package static let switched = refreshed.with(["user_id": .string(grace)])
  /// Tokens without a device secret, which only a sign-in replaces.
  package static let refreshed: JSON = [
    "access_token": .string(accessToken), "refresh_token": .string(refreshToken),
    "token_type": "Bearer", "expires_in": 1_800, "user_id": .string(ada),
    "device_id": .string(device),
  ]

  package static let adaOnDevice: JSON = [
    "user_id": .string(ada), "activated_at": .string(played), "state": "active", "anonymous": false,
    "name": "Ada Lovelace", "nickname": "countess", "email": .string(email),
    "picture": .string(picture),
  ]
  package static let graceOnDevice: JSON = [
    "user_id": .string(grace), "activated_at": .string(visited), "state": "inactive",
    "anonymous": false, "name": "Grace Hopper", "nickname": "amazing grace",
    "email": "grace@example.org", "picture": .null,
  ]
  package static let deviceUsers: JSON = device(with: [adaOnDevice, graceOnDevice])
  package static let deviceAfterLogout: JSON = device(with: [
    graceOnDevice, adaOnDevice.with(["state": "logged_out"]),
  ])
  package static let deviceAfterRemoval: JSON = device(with: [graceOnDevice])

  private static func device(with users: [JSON]) -> JSON {
    ["device_id": .string(device), "users": .array(users)]
  }

  package static let charlesProfile: JSON = profile.with([
    "id": .string(charles), "created_at": .string(visited), "updated_at": .string(visited),
    "version": 1, "email": "charles@example.com", "name": "Charles Babbage", "given_name": .null,
    "family_name": .null, "nickname": .null, "locale": .null, "zone": .null, "picture": .null,
  ])
  package static let blockedProfile: JSON = profile.with([
    "id": .string(grace), "version": 4, "email": "grace@example.org", "name": "Grace Hopper",
    "given_name": "Grace", "family_name": "Hopper", "nickname": "amazing grace",
    "locale": "en-US", "zone": "America/New_York", "picture": .null, "blocked": true,
  ])

  package static let metadata: JSON = ["theme": "dark"]
  package static let appMetadata: JSON = ["plan": "premium"]
  package static let customData: JSON = ["level": 7, "items": ["axe", "lamp"]]
  package static let properties: JSON = ["volume": 8, "sound": true]
  package static let schema: JSON = ["properties": ["theme": ["enum": ["dark", "light"]]]]
  package static let newAPIKey: JSON = [
    "id": .string(apiKey), "name": "laptop", "key": .string(keyOfUser),
  ]
  package static let newIndex: JSON = [
    "id": .string(index), "path": "metadata.theme", "kind": "text", "state": "building",
    "created_at": .string(appMade),
  ]

  /// The signing keys of an app after a rotation.
  package static let keys: JSON = [
    key(signingKeyAfter, made: played, retires: nil),
    key(signingKey, made: appMade, retires: "2026-03-03T08:30:00.340156+00:00"),
  ]

  private static func key(_ id: String, made: String, retires: String?) -> JSON {
    [
      "id": .string(id), "purpose": "access", "algorithm": "ES256",
      "current": .bool(retires == nil),
      "created_at": .string(made), "retires_at": retires.map(JSON.string) ?? .null,
      "public_key": jwk.with(["kid": .string(id)]),
    ]
  }

  package static let jwk: JSON = [
    "kty": "EC", "crv": "P-256", "x": "MDFxnu9dw3yU2s9NKaYSfBqvh8veBS6q_c0_OKiGJqo",
    "y": "b3jkLX7dDS8-Og_Wn7QtMvttM3hPZeq0nzOpEKRMtqA", "kid": .string(signingKey), "alg": "ES256",
    "use": "sig",
  ]

  package static let openAPI: JSON = [
    "openapi": "3.1.1", "info": ["title": "Dossier", "version": "1"],
    "paths": ["/v1/me": ["get": ["operationId": "me.get"]]],
  ]

  /// Some members of an export.
  package static let export: JSON = [
    "profile": profile, "exported_at": .string(played), "login_count": 1,
    "documents": [
      "custom_data": ["body": customData, "version": 2, "updated_at": .string(played)]
    ],
    "properties": ["volume": ["value": 8, "version": 2, "updated_at": .string(played)]],
    "left_out": ["sessions": 0, "version_bodies": 0, "audit": 0],
  ]
}

extension JSON {
  /// Returns the object with some members replaced.
  fileprivate func with(_ members: JSON) -> JSON {
    var object = object ?? JSONObject()
    for (name, value) in members.object ?? JSONObject() { object[name] = value }
    return .object(object)
  }
}
