/**
 * The client of Dossier for web pages: logs users in, keeps their tokens fresh, and reads and writes
 * what belongs to them. Whatever goes wrong is a DossierError. When the session of this page's user
 * has ended (a logout elsewhere, a new password, time), its status is 401 and `user` null from then
 * on: show the login.
 */

/** What went wrong. */
export class DossierError extends Error {
  constructor(problem: Problem, more?: { retryAfter?: number; cause?: unknown });
  /**
   * Stable, as the reference lists them. Without an answer of the server: "unreachable",
   * "not_logged_in", or "invalid" for what cannot be asked.
   */
  code: string;
  /** Of HTTP; 0 when there was no answer. */
  status: number;
  /** The places of the input that broke a rule. */
  errors: { pointer: string; code: string; detail: string }[];
  /** All that the server said, such as `value` and `current_version` of a conflict. */
  problem: Problem;
  /** After how many seconds it may be tried again. */
  retryAfter: number | undefined;
}

/** The users of one app in this browser, one of whom is the user of this page. */
export class Dossier {
  /**
   * @param url where Dossier answers
   * @param options `app` where the host name does not tell it. `device` "secret" keeps what lets users
   *   in in localStorage; "cookie" keeps it in a cookie that no script can read, for pages of the
   *   server's own site or as the app's device_cookie_same_site says, and access tokens in the page
   *   alone.
   */
  constructor(url: string, options?: { app?: string; device?: "secret" | "cookie" });

  /** The id of the user of this page, which other pages do not change; null for nobody. */
  readonly user: string | null;

  // Each way to log in answers the id of the user, who is active on the device from then on.

  /** Makes a user who has nothing to log in with until something is linked. */
  loginAnonymously(): Promise<string>;
  /** Answers null where the address must be confirmed before it can log in. */
  register(email: string, password: string): Promise<string | null>;
  login(email: string, password: string): Promise<string>;
  /** By a token of one of the app's issuers. */
  loginWithToken(token: string): Promise<string>;
  /** By an API key of the user. */
  loginWithKey(key: string): Promise<string>;
  /** Has a code mailed to log in by, or to sign up; what is answered goes to `loginWithCode`. */
  requestCode(email: string): Promise<{ request: string; expires_in: number }>;
  loginWithCode(asked: { request: string }, code: string): Promise<string>;

  /** Has a mail sent with a token that confirms the address. */
  requestConfirmation(email: string): Promise<void>;
  /**
   * Confirms an address by the token of a mail. Without a password the user is that of this page, which
   * has logged in by its password; or, where nobody is logged in, one who was in this browser before
   * and is logged in by that: then its password ends, and `requestReset` gets it a new one.
   * Else the error "claimant_unproved" says that the password is wanted. With it, sessions that began
   * anonymously end. Answers the user of this page then, null for nobody, who has to log in.
   */
  confirm(token: string, password?: string): Promise<string | null>;
  /** Has a mail sent with a token that resets the password. */
  requestReset(email: string): Promise<void>;
  /** Sets a new password by the token of that mail and logs the user in; answers its id. */
  resetPassword(token: string, password: string): Promise<string>;
  /** Ends all sessions of the user, and its API keys; this page goes on in a new one. */
  changePassword(current: string, chosen: string): Promise<void>;
  /** Has a mail sent to another address that makes it the user's; asks for a fresh proof. */
  changeEmail(email: string): Promise<void>;
  /** Makes another address the user's, by the token of that mail. */
  confirmEmail(token: string): Promise<void>;
  /**
   * Gives the user its address back, by the token that was mailed there when it was changed, with a new
   * password, and logs the user in; answers its id.
   */
  restoreEmail(token: string, password: string): Promise<string>;
  /** Shows anew who calls, after an error with the code "reauthentication_required", in a new session. */
  reauthenticate(evidence: Evidence): Promise<void>;

  /** By what the user is known. */
  identities(): Promise<Identity[]>;
  /**
   * Links a way to log in: a user who was anonymous keeps its id and its data. Answers all identities;
   * for an API key its `key`, which is shown this once.
   */
  link(identity: NewIdentity): Promise<any>;
  /** Never the last one. */
  unlink(id: string): Promise<void>;

  /** Everybody who is known on the device, the active user first. */
  users(): Promise<DeviceUser[]>;
  /** Makes another user who is logged in on the device that of this page. */
  switchTo(user: string): Promise<string>;
  /** Logs a user out, this page's unless told: who was active before goes on. Answers who is left. */
  logout(user?: string): Promise<DeviceUser[]>;
  /** Logs a user out and makes the device forget it; the user itself stays. */
  forget(user: string): Promise<DeviceUser[]>;

  profile(): Promise<Profile>;
  /** Null removes a member. */
  changeProfile(changes: Partial<Profile>, options?: { version?: number }): Promise<Profile>;
  /** JPEG, PNG, WebP, HEIF, AVIF or GIF. */
  setPicture(file: Blob): Promise<Profile>;
  removePicture(): Promise<void>;
  /** Where the picture of a profile, or of a user of the device, is shown. */
  pictureURL(profile: { picture: string | null }): string | null;
  /** Deletes the user of this page and all its data; who was active before goes on. */
  deleteUser(): Promise<void>;

  metadata: Metadata;
  customData: CustomData;
  properties: Properties;

  /**
   * Any route that asks for an access token, such as GET /v1/me/sessions. Not those that answer new
   * tokens or end the session: these have members of their own here, which keep count of it.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

/**
 * A JSON object of the user: `{}` in version 0 before the first write. A write with a `version` is
 * refused unless that version is stored.
 */
interface Metadata {
  read(): Promise<Answer>;
  replace(body: object, options?: { version?: number }): Promise<Answer>;
  /** By a merge patch (RFC 7396): null removes a member. */
  patch(changes: object, options?: { version?: number }): Promise<Answer>;
}

/** As metadata, but not there until it is written. */
interface CustomData extends Metadata {
  /** From then on it is `{}` in version 0. */
  delete(options?: { version?: number }): Promise<void>;
  /** By MongoDB's update operators, such as { $inc: { level: 1 } }. */
  update(
    update: object,
    more?: { array_filters?: object[]; filter?: object; upsert?: boolean },
  ): Promise<UpdateOutcome>;
}

/**
 * Small values by key, which is not empty, "." or "..". With a `version`, a write that finds another one is an error with the code
 * "property_moved", whose `problem` has the stored `value` and `current_version`; or `keep` says
 * whose value stays.
 */
interface Properties {
  all(): Promise<Record<string, PropertyValue>>;
  versions(): Promise<Record<string, { value: PropertyValue; version: number }>>;
  get(key: string): Promise<Property>;
  set(key: string, value: PropertyValue, options?: PropertyOptions): Promise<Property>;
  remove(key: string, options?: PropertyOptions): Promise<void>;
  /** Null removes a property. Answers all of them. */
  merge(changes: Record<string, PropertyValue | null>): Promise<Record<string, PropertyValue>>;
}

/** What became of an update: in a word, and as MongoDB counts. */
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

/** `body` is sent as JSON unless it is a Blob; `version` 0 stands for "there is none yet". */
export type RequestOptions = { body?: any; type?: string; version?: number };

/** The JSON of an answer, its version (0 without an `ETag`), and the path of a list's next page. */
export type Answer = { body: any; version: number; next: string | null };

/** What the server says when it refuses (RFC 9457). */
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

export type DeviceUser = {
  user_id: string;
  state: "active" | "inactive" | "logged_out";
  chosen_at: string;
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
  confirmed: boolean;
  created_at: string;
};

export type NewIdentity =
  | { provider: "password"; email: string; password: string }
  | { provider: "jwt"; token: string }
  | { provider: "api-key"; name: string };

export type Evidence =
  | { provider: "password"; password: string }
  | { provider: "jwt"; token: string }
  | { provider: "api-key"; key: string };
