/**
 * The client of Dossier for web pages. It signs users in, keeps their tokens fresh, and reads and
 * writes their data. On a server, each client keeps its tokens in memory: make one for each request.
 * Every failed call throws a DossierError. When the session of this page's user
 * has ended (signed out elsewhere, a new password, time), its status is 401 and `user` becomes
 * null: show the sign-in.
 */

/** The error of a failed call. */
export class DossierError extends Error {
  constructor(problem: Problem, more?: { retryAfter?: number; cause?: unknown });
  /**
   * Stable; the reference lists the codes. Without a response it is "unreachable", "not_logged_in",
   * or "validation_failed" for a call that cannot be sent.
   */
  code: string;
  /** The HTTP status; 0 without a response. */
  status: number;
  /** The parts of the input that broke a rule. */
  errors: { pointer: string; code: string; detail: string }[];
  /** With "additional_factor_required": the flow for `completeSecondFactor`. */
  flow: string | undefined;
  /** With "additional_factor_required": the ways to complete it, such as "totp" or "enroll". */
  methods: string[];
  /** The whole response, such as `value` and `current_version` of a conflict. */
  problem: Problem;
  /** Seconds until the next attempt is allowed. */
  retryAfter: number | undefined;
}

/**
 * The users of one app in this browser. One of them is the user of this page.
 *
 * `M` is the type of the app's metadata, and `C` that of its custom data. Before the first write, a
 * document is `{}`, so declare members as optional.
 */
export class Dossier<M extends object = JSONObject, C extends object = JSONObject> {
  /**
   * @param url the URL of the server
   * @param options `app` names the app, if the host name does not. `device` "secret" keeps tokens
   *   in localStorage. "cookie" keeps them in a cookie that scripts cannot read, and access tokens
   *   in the page alone; it needs a page of the server's own site, or the app's
   *   device_cookie_same_site.
   */
  constructor(url: string, options?: { app?: string; device?: "secret" | "cookie" });

  /**
   * The id of the user of this page, or null. Other pages do not change it. A page that is loaded without
   * a user of its own has the user who is active in the browser.
   */
  readonly user: string | null;

  // `dossier-redirect.js` signs users in at the pages of the server, and `dossier-passkeys.js` by
  // passkeys. `dossier-changes.js` reports changes of the user's data.
  //
  // Each way to sign in returns the user's id, and makes the user active on the device. The error
  // "additional_factor_required" means that the user has a second factor, or needs one.

  /** Makes a guest: an anonymous user, who can link an address later. */
  signInAnonymously(): Promise<string>;
  /**
   * Makes a user. If the app verifies addresses first, it signs no user in and returns a flow:
   * ask the user for the code in the mail, and call `signInWithCode`.
   */
  register(email: string, password: string): Promise<Registration>;
  signIn(email: string, password: string): Promise<string>;
  /** With a token of one of the app's issuers. */
  signInWithToken(token: string, nonce?: string): Promise<string>;
  /** With an API key of the user. */
  signInWithKey(key: string): Promise<string>;
  /** Sends a mail with a code, for `signInWithCode` or `reauthenticate`. */
  requestCode(email: string): Promise<Flow>;
  /** Signs in with the code of a mail. Creates the user first if necessary. */
  signInWithCode(flow: string, code: string): Promise<string>;
  /**
   * Starts the second factor that the app requires, if the error has the method "enroll". Show
   * `uri` as a QR code, then call `completeSecondFactor` with a code of the user's authenticator
   * app.
   */
  enrollSecondFactor(flow: string): Promise<{ id: string; secret: string; uri: string }>;
  /**
   * Completes a sign-in with the 6 digits of an authenticator app, or with a recovery code. Returns
   * new recovery codes after an enrollment: show them to the user once.
   */
  completeSecondFactor(
    flow: string,
    code: string,
  ): Promise<{ user: string; recoveryCodes: string[] }>;
  /**
   * Confirms a second factor of the user of this page, which POST /v1/me/second-factors has begun.
   * Ends the user's sessions, and this page continues in a new one. Returns the recovery codes: show
   * them to the user once.
   */
  confirmSecondFactor(id: string, code: string): Promise<string[]>;

  /** Sends a mail with a token that verifies the address. */
  requestVerification(email: string): Promise<void>;
  /**
   * Verifies an address with the token of a mail. With the password it also signs in. Without one,
   * the user of this page must be the user of the address. Otherwise the error is
   * "sign_in_to_verify": ask for the password, and call again. Returns the user of this page.
   */
  verifyEmail(token: string, password?: string): Promise<string | null>;
  /** Sends a mail with a token that resets the password. */
  requestReset(email: string): Promise<void>;
  /** Sets a new password with the token of that mail, and signs in. */
  resetPassword(token: string, password: string): Promise<string>;
  /** Ends all sessions and API keys of the user. This page continues in a new session. */
  changePassword(current: string, chosen: string): Promise<void>;
  /** Sends a code to the new address, for `verifyNewEmail`. Needs a recent sign-in. */
  changeEmail(email: string): Promise<Flow>;
  /** Replaces the user's address, with the code of that mail. */
  verifyNewEmail(flow: string, code: string): Promise<void>;
  /**
   * Restores the address that a user had before, with the token that was mailed there and a new
   * password. Signs in, and revokes the other credentials.
   */
  restoreEmail(token: string, password: string): Promise<string>;
  /**
   * Signs the user of this page in again, after the error "reauthentication_required". This page
   * continues in a new session.
   */
  reauthenticate(credential: Reauthentication): Promise<void>;

  identities(): Promise<Identity[]>;
  /** Makes an API key. Its `key` cannot be read again. */
  link(identity: KeyName): Promise<NewAPIKey>;
  /**
   * Links an address or an account of an issuer. A guest keeps the id and the data. This page
   * continues in a new session. The first link of a guest ends its other sessions and its API keys.
   */
  link(identity: Exclude<NewIdentity, KeyName>): Promise<void>;
  /** Refused for the last identity. */
  unlink(id: string): Promise<void>;

  /**
   * Shows what an undo of a session's writes would change, by document. The app must keep versions; see
   * its setting `document_versions_kept`. GET /v1/me/sessions lists the sessions.
   */
  sessionChanges(session: string): Promise<UndoPreview>;
  /**
   * Undoes what a session has written in these documents, all or none. Each has its `version` of the
   * preview; with another version stored, the error is "precondition_failed". Conflicts stay, unless
   * `conflicts` has their pointers. Returns the new versions; 0 for a deleted document.
   */
  undoSession(
    session: string, documents: SessionUndo
  ): Promise<{ [N in DocumentName]?: { version: number } }>;

  /**
   * Returns all users of the device, the active one first. Users who have signed in by redirect are not
   * among them: the server's pages list those, for example with `prompt: "select_account"`.
   */
  users(): Promise<DeviceUser[]>;
  /** Makes another user, who is signed in on the device, the user of this page. */
  switchTo(user: string): Promise<string>;
  /**
   * Signs a user out: the user of this page, unless another is given. Then no user is active. With
   * `next` "most_recent", the signed-in user who signed in, or was switched to, last becomes active,
   * also on this page.
   * Returns the users of the device.
   *
   * After a sign-in by redirect, it leaves the page, ends the user's sessions at the server's pages and
   * in all tabs, and returns to this page, or to `redirect`: one of the client's `logout_urls`.
   */
  signOut(user?: string, options?: { next?: Next; redirect?: string }): Promise<DeviceUser[]>;
  /**
   * Signs all users of the device out, on all its pages. Returns them. It leaves out the sessions at the
   * server's pages, which a `signOut` ends too.
   */
  signOutAll(): Promise<DeviceUser[]>;
  /** Signs a user out and removes it from the device. The user itself is not deleted. */
  forget(user: string, options?: { next?: Next }): Promise<DeviceUser[]>;

  /**
   * Returns an access token of the user of this page, for requests to your own back end. It is valid for
   * ten seconds at least: ask for it before each request.
   */
  token(): Promise<string>;
  profile(): Promise<Profile>;
  /** Null removes a member. */
  changeProfile(changes: ProfileChanges, options?: { version?: number }): Promise<Profile>;
  /** JPEG, PNG, WebP, HEIF, AVIF or GIF. */
  setPicture(file: Blob): Promise<Profile>;
  removePicture(): Promise<void>;
  /** Returns the URL of the picture of a profile, or of a user of the device. */
  pictureURL(profile: { picture: string | null }): string | null;
  /** Deletes the user of this page and all its data. `next` is that of `signOut`. */
  deleteUser(options?: { next?: Next }): Promise<void>;

  metadata: Metadata<M>;
  customData: CustomData<C>;
  properties: Properties;

  /**
   * Calls any route that needs an access token, such as GET /v1/me/sessions. Routes that return
   * tokens or end the session have members of their own, which store the change: call those.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

/**
 * A JSON object of the user: `{}` in version 0 before the first write. A write with a `version` is
 * refused unless that version is stored. With `conflict`, the `problem` of the error then has a
 * `Conflict` under that name.
 */
export interface Metadata<T extends object = JSONObject> {
  read(): Promise<Answer<T>>;
  replace(body: T, options?: DocumentOptions): Promise<Answer<T>>;
  /**
   * By a merge patch (RFC 7396), in which null removes a member, or by an array of JSON Patch
   * operations (RFC 6902).
   */
  patch(
    changes: MergePatch<T> | JSONPatchOperation[],
    options?: DocumentOptions,
  ): Promise<Answer<T>>;
}

/** Like metadata, with update operators. */
export interface CustomData<T extends object = JSONObject> extends Metadata<T> {
  /** Leaves `{}` in version 0. */
  delete(options?: { version?: number }): Promise<void>;
  /** By MongoDB's update operators, such as { $inc: { level: 1 } }. */
  update(
    update: object,
    more?: { array_filters?: object[]; filter?: object; upsert?: boolean },
  ): Promise<UpdateOutcome>;
}

/** A JSON object of an app that declares no type for it. */
export type JSONObject = { [member: string]: any };

/** The changes of an object: each member may be omitted, and null removes it. */
export type MergePatch<T> = T extends readonly any[] ? T
  : T extends object ? { [K in keyof T]?: MergePatch<T[K]> | null }
  : T;

/** An operation of a JSON Patch. The operations of an array are applied all, or none. */
export type JSONPatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: any }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; from: string; path: string };

/**
 * Small values by key. A key is not empty, "." or "..". With a `version`, a write is refused if
 * another version is stored. The error has the code "version_conflict", and its `problem` the stored
 * `value` and `current_version`. With `keep`, the server decides: "new" writes, "old" keeps what is
 * stored.
 */
export interface Properties {
  all(): Promise<Record<string, PropertyValue>>;
  versions(): Promise<Record<string, { value: PropertyValue; version: number }>>;
  get(key: string): Promise<Property>;
  set(key: string, value: PropertyValue, options?: PropertyOptions): Promise<Property>;
  remove(key: string, options?: PropertyOptions): Promise<void>;
  /** Null removes a property. Returns all of them. */
  merge(changes: Record<string, PropertyValue | null>): Promise<Record<string, PropertyValue>>;
}

/** The result of an update, in a word and in MongoDB's counts. */
export type UpdateOutcome = {
  outcome: "created" | "updated" | "unchanged" | "no_match" | "no_document";
  matched_count: number;
  modified_count: number;
  upserted: boolean;
  version: number;
};

export type PropertyValue = string | number | boolean;
export type Property = { key: string; value: PropertyValue; version: number };
export type PropertyOptions = { version?: number; keep?: "new" | "old" };

export type DocumentOptions = { version?: number; conflict?: boolean };

/**
 * What each side has if a write of a document is refused: the document that the writer knew, the stored
 * one, the result of the change, both changes together, and the JSON Pointers to what both have changed.
 * A member is null if the app does not keep the version of the writer; see its setting
 * `document_versions_kept`.
 */
export type Conflict<T = JSONObject> = {
  base: T | null; theirs: T; mine: T | null; merged: T | null; conflicts: string[] | null;
};

/** A document of the user. */
export type DocumentName = "metadata" | "app_metadata" | "custom_data";

/** The changes of an undo in each document that the session has written. */
export type UndoPreview = { [N in DocumentName]?: DocumentUndo };

/** The changes of an undo in one document. */
export type DocumentUndo = {
  /** Send it with the undo. */
  version: number;
  outcome: "unchanged" | "changed" | "created" | "deleted";
  /** Members that go back to their values before the session. */
  changes: UndoneMember[];
  /** Members that another writer has changed after the session, and that stay. */
  conflicts: (UndoneMember & {
    actor: string | null; session_id: string | null; changed_at: string | null;
  })[];
  /** JSON Pointers to members that the user may not write, and that stay. */
  not_writable: string[];
  /** Whether there are more places than these lists have. */
  more: boolean;
  /** False if the session may have written versions that are not stored any more. */
  complete: boolean;
  /** Why the document cannot be undone. */
  obstacle: "history_gone" | "too_large" | "schema_mismatch" | null;
};

/** A member with its JSON Pointer. Without `now` it does not exist; without `after` it is removed. */
export type UndoneMember = { pointer: string; now?: any; after?: any };

/** The documents to undo. */
export type SessionUndo = { [N in DocumentName]?: { version: number; conflicts?: string[] } };

/** `body` is sent as JSON unless it is a Blob. `version` 0 means that nothing is stored yet. */
export type RequestOptions = { body?: any; type?: string; version?: number; conflict?: boolean };

/** The JSON of a response, its version (0 without an `ETag`), and the path of a list's next page. */
export type Answer<T = any> = { body: T; version: number; next: string | null };

/** The response to a refused request (RFC 9457). */
export type Problem = {
  type: string;
  title: string;
  status: number;
  code: string;
  detail?: string;
  errors?: { pointer: string; code: string; detail: string }[];
  [member: string]: any;
};

export type Profile = {
  id: string;
  version: number;
  created_at: string;
  updated_at: string;
  anonymous: boolean;
  blocked: boolean;
  email: string | null;
  email_verified: boolean;
  name: string | null;
  given_name: string | null;
  family_name: string | null;
  nickname: string | null;
  phone: string | null;
  locale: string | null;
  zone: string | null;
  picture: string | null;
};

/** The members of a profile that its user may change. Null removes one. */
export type ProfileChanges = Partial<
  Pick<
    Profile,
    "name" | "given_name" | "family_name" | "nickname" | "phone" | "locale" | "zone"
  >
>;

export type DeviceUser = {
  user_id: string;
  state: "active" | "inactive" | "logged_out";
  activated_at: string;
  anonymous: boolean;
  name: string | null;
  nickname: string | null;
  email: string | null;
  picture: string | null;
};

export type Identity = {
  id: string;
  provider: string;
  subject: string;
  verified: boolean;
  /** The name of the connection; only for identities of one. */
  connection?: string | null;
  /** What its service says of the user; null if it says nothing. */
  email?: string | null;
  name?: string | null;
  created_at: string;
};

export type NewIdentity =
  | { provider: "password"; email: string; password: string }
  | { provider: "jwt"; token: string }
  | {
      provider: "connection"; connection: string; code?: string; id_token?: string;
      redirect_uri?: string; code_verifier?: string; nonce?: string;
    }
  | { provider: "pending"; flow: string }
  | KeyName;

export type KeyName = { provider: "api-key"; name: string };

export type NewAPIKey = { id: string; name: string; key: string };

export type Reauthentication =
  | { provider: "password"; password: string }
  | { provider: "email"; flow: string; code: string }
  | { provider: "jwt"; token: string }
  | { provider: "api-key"; key: string };

/** A flow that waits for a code. It expires after so many seconds. */
export type Flow = { flow: string; expires_in: number };

/** The user who is signed in; or, if the address must be verified first, the flow. */
export type Registration = { user: string; flow: null } | { user: null; flow: string };

/** The next active user: the signed-in user who signed in, or was switched to, last, or none. */
export type Next = "most_recent" | "none";
