// The client of Dossier for web pages, and for servers. dossier.d.ts documents its members.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   const dossier = new Dossier("https://users.example.com");
//   if (!dossier.user) await dossier.signInAnonymously();
//   await dossier.metadata.patch({ theme: "dark" });

import { activeOf, part, Session, sessions } from "./dossier-session.js";

export { DossierError } from "./dossier-session.js";

/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
/** @typedef {{ version?: number }} Version */
/** @typedef {{ next?: import("./dossier.js").Next }} Leaving */
/** @typedef {Leaving & { redirect?: string }} SigningOut */

export class Dossier {
  #session;

  /** @param {string} url @param {{ app?: string, device?: "secret" | "cookie" }} [options] */
  constructor(url, options) {
    this.#session = new Session(url, options);
    sessions.set(this, this.#session);
    this.metadata = metadata(this);
    this.customData = customData(this);
    this.properties = properties(this);
  }

  get user() { return this.#session.user; }

  // Signing in

  signInAnonymously() { return this.#signIn("/v1/login/anonymous", {}); }
  /** @param {string} email @param {string} password */
  async register(email, password) {
    const answer = await this.#session.signIn("/v1/register", { email, password });
    return { user: answer.user_id ?? null, flow: answer.flow ?? null };
  }
  /** @param {string} email @param {string} password */
  signIn(email, password) { return this.#signIn("/v1/login/password", { email, password }); }
  /** @param {string} token @param {string} [nonce] */
  signInWithToken(token, nonce) { return this.#signIn("/v1/login/jwt", { token, nonce }); }
  /** @param {string} key */
  signInWithKey(key) { return this.#signIn("/v1/login/api-key", { key }); }
  /** @param {string} email */
  requestCode(email) { return this.#mail("/v1/login/code/request", email); }
  /** @param {string} flow @param {string} code */
  signInWithCode(flow, code) { return this.#signIn("/v1/login/code", { flow, code }); }
  /** @param {string} flow */
  enrollSecondFactor(flow) {
    return this.#session.sendKnown("/v1/login/second-factor/enroll", { flow });
  }
  /** @param {string} flow @param {string} code */
  async completeSecondFactor(flow, code) {
    const answer = await this.#session.signIn("/v1/login/second-factor", { flow, code });
    return { user: answer.user_id, recoveryCodes: answer.recovery_codes ?? [] };
  }
  /** @param {string} id @param {string} code @returns {Promise<string[]>} */
  confirmSecondFactor(id, code) {
    return this.#session.renew(`/v1/me/second-factors/${part(id)}/confirm`, { code });
  }

  // Addresses and passwords

  /** @param {string} email */
  requestVerification(email) { return this.#mail("/v1/email/verify/request", email); }
  /** @param {string} token @param {string} [password] */
  async verifyEmail(token, password) {
    const path = "/v1/email/verify";
    if (password !== undefined) return this.#signIn(path, { token, password });
    if (this.user) await this.#ask("POST", path, { body: { token } });
    else await this.#session.sendKnown(path, { token });
    return this.user;
  }
  /** @param {string} email */
  requestReset(email) { return this.#mail("/v1/password/reset-request", email); }
  /** @param {string} token @param {string} password */
  resetPassword(token, password) {
    return this.#signIn("/v1/password/reset", { token, password });
  }
  /** @param {string} current_password @param {string} new_password */
  changePassword(current_password, new_password) {
    return this.#session.renew("/v1/password/change", { current_password, new_password });
  }
  /** @param {string} email */
  changeEmail(email) { return this.#ask("POST", "/v1/me/email", { body: { email } }); }
  /** @param {string} flow @param {string} code */
  verifyNewEmail(flow, code) {
    return this.#ask("POST", "/v1/me/email/verify", { body: { flow, code } });
  }
  /** @param {string} token @param {string} password */
  restoreEmail(token, password) { return this.#signIn("/v1/email/restore", { token, password }); }
  /** @param {import("./dossier.js").Reauthentication} body */
  reauthenticate(body) { return this.#session.renew("/v1/reauthenticate", body); }

  // Identities of the user

  identities() { return this.#ask("GET", "/v1/me/identities"); }
  /** @param {import("./dossier.js").NewIdentity} body @returns {Promise<any>} */
  link(body) {
    const path = "/v1/me/identities";
    if (body.provider === "api-key") return this.#ask("POST", path, { body });
    return this.#session.renew(path, body);
  }
  /** @param {string} id */
  async unlink(id) { return this.#ask("DELETE", `/v1/me/identities/${part(id)}`); }

  // Sessions of the user

  /** @param {string} session */
  async sessionChanges(session) {
    return (await this.#ask("GET", `${sessionPath(session)}/changes`)).documents;
  }
  /** @param {string} session @param {import("./dossier.js").SessionUndo} body */
  undoSession(session, body) { return this.#ask("POST", `${sessionPath(session)}/undo`, { body }); }

  // Users of the device

  /** @returns {Promise<DeviceUser[]>} */
  async users() {
    if (this.#session.isNew) return [];
    return (await this.#session.send("GET", "/v1/device", { device: true })).body.users;
  }
  /** @param {string} user */
  switchTo(user) { return this.#session.switchTo(user); }
  /** @param {SigningOut} [options] */
  signOut(user = this.user, options) {
    return this.#session.leave("POST", user, "/logout", options?.next, options?.redirect);
  }
  /** @returns {Promise<DeviceUser[]>} */
  signOutAll() { return this.#session.leaveAll(); }
  /** @param {string} user @param {Leaving} [options] */
  forget(user, options) { return this.#session.leave("DELETE", user, "", options?.next); }

  // The user of this page

  token() { return this.#session.access(); }
  profile() { return this.#ask("GET", "/v1/me"); }
  /** @param {import("./dossier.js").ProfileChanges} body @param {Version} [options] */
  changeProfile(body, options) { return this.#ask("PATCH", "/v1/me", { ...options, body }); }
  /** @param {Blob} file */
  setPicture(file) { return this.#ask("PUT", "/v1/me/picture", { body: file }); }
  removePicture() { return this.#ask("DELETE", "/v1/me/picture"); }
  /** @param {{ picture: string | null }} profile */
  pictureURL({ picture }) { return picture?.startsWith("/") ? this.#session.url + picture : picture; }
  /** @param {Leaving} [options] */
  async deleteUser(options) {
    const user = this.user;
    const next = options?.next ?? "none";
    await this.request("DELETE", `/v1/me?next=${next}`);
    // The user is deleted, even if the other users of the device cannot be read.
    const users = next === "none" ? [] : await this.users().catch(() => []);
    if (user) this.#session.drop(user, activeOf(users));
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  request(method, path, options) { return this.#session.request(method, path, options); }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  async #ask(method, path, options) { return (await this.request(method, path, options)).body; }
  /** @param {string} path @param {object} body @returns {Promise<string>} */
  async #signIn(path, body) { return (await this.#session.signIn(path, body)).user_id; }
  /** @param {string} path @param {string} email */
  #mail(path, email) {
    // Strangers cannot use up the mails of a user who is known on this device.
    return this.#session.sendKnown(path, { email });
  }
}

/** @param {string} session */
const sessionPath = (session) => `/v1/me/sessions/${part(session)}`;

/** @param {Dossier} dossier @returns {import("./dossier.js").Dossier["metadata"]} */
function metadata(dossier, path = "/v1/me/metadata") {
  return {
    read: () => dossier.request("GET", path),
    replace: (body, options) => dossier.request("PUT", path, { ...options, body }),
    patch: (body, options) => {
      const type = `application/${Array.isArray(body) ? "json" : "merge"}-patch+json`;
      return dossier.request("PATCH", path, { ...options, body, type });
    },
  };
}

/** @param {Dossier} dossier @returns {import("./dossier.js").Dossier["customData"]} */
function customData(dossier, path = "/v1/me/custom-data") {
  return {
    ...metadata(dossier, path),
    delete: async (options) => { await dossier.request("DELETE", path, options); },
    update: async (update, more) =>
      (await dossier.request("POST", `${path}/update`, { body: { update, ...more } })).body,
  };
}

/** @param {Dossier} dossier @returns {import("./dossier.js").Dossier["properties"]} */
function properties(dossier) {
  /** @type {(method: string, tail?: string, options?: RequestOptions) => Promise<any>} */
  const ask = async (method, tail = "", options) =>
    (await dossier.request(method, `/v1/me/properties${tail}`, options)).body;
  /** @param {string} key @param {{ keep?: string }} [options] */
  const place = (key, options) =>
    `/${part(key)}${options?.keep ? `?keep=${options.keep}` : ""}`;
  return {
    all: () => ask("GET"),
    versions: () => ask("GET", "?versions=true"),
    get: async (key) => ask("GET", place(key)),
    set: async (key, value, options) =>
      ask("PUT", place(key, options), { body: { value }, version: options?.version }),
    remove: async (key, options) => {
      await ask("DELETE", place(key, options), { version: options?.version });
    },
    merge: (body) => ask("PATCH", "", { body }),
  };
}
