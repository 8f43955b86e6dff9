// The client of Dossier for web pages; dossier.d.ts says what each of its members does.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   const dossier = new Dossier("https://users.example.com");
//   if (!dossier.user) await dossier.loginAnonymously();
//   await dossier.metadata.patch({ theme: "dark" });

import { part, Session } from "./dossier-session.js";

export { DossierError } from "./dossier-session.js";

/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
/** @typedef {{ version?: number }} Version */

export class Dossier {
  #session;

  /** @param {string} url @param {{ app?: string, device?: "secret" | "cookie" }} [options] */
  constructor(url, options) {
    this.#session = new Session(url, options);
    this.metadata = metadata(this);
    this.customData = customData(this);
    this.properties = properties(this);
  }

  get user() { return this.#session.user; }

  // Ways to log in

  loginAnonymously() { return this.#session.login("/v1/login/anonymous", {}); }
  /** @param {string} email @param {string} password */
  register(email, password) { return this.#session.login("/v1/register", { email, password }); }
  /** @param {string} email @param {string} password */
  login(email, password) { return this.#session.login("/v1/login/password", { email, password }); }
  /** @param {string} token */
  loginWithToken(token) { return this.#session.login("/v1/login/jwt", { token }); }
  /** @param {string} key */
  loginWithKey(key) { return this.#session.login("/v1/login/api-key", { key }); }
  /** @param {string} email */
  requestCode(email) { return this.#mail("/v1/login/code/request", email); }
  /** @param {{ request: string }} asked @param {string} code */
  loginWithCode({ request }, code) { return this.#session.login("/v1/login/code", { request, code }); }

  // Addresses and passwords

  /** @param {string} email */
  requestConfirmation(email) { return this.#mail("/v1/confirm/request", email); }
  /** @param {string} token @param {string} [password] */
  async confirm(token, password) {
    // Without a session, this browser may be known to be the claimant's.
    if (!this.user && !password) return this.#session.login("/v1/confirm", { token });
    const access = this.user ? await this.#session.access(this.user) : undefined;
    await this.#post("/v1/confirm", { token, password }, access);
    // What the password proves may have ended the session of this page, which nobody would find then.
    if (this.user && password) await this.profile().catch(() => {});
    return this.user;
  }
  /** @param {string} email */
  requestReset(email) { return this.#mail("/v1/password/reset-request", email); }
  /** @param {string} token @param {string} password */
  resetPassword(token, password) {
    return this.#session.login("/v1/password/reset", { token, password });
  }
  /** @param {string} current_password @param {string} new_password */
  changePassword(current_password, new_password) {
    return this.#session.renew("/v1/password/change", { current_password, new_password });
  }
  /** @param {string} email */
  changeEmail(email) { return this.#ask("POST", "/v1/me/email", { body: { email } }); }
  /** @param {string} token */
  confirmEmail(token) { return this.#ask("POST", "/v1/me/email/confirm", { body: { token } }); }
  /** @param {string} token @param {string} password */
  restoreEmail(token, password) {
    return this.#session.login("/v1/email/restore", { token, password });
  }
  /** @param {import("./dossier.js").Evidence} body */
  reauthenticate(body) { return this.#session.renew("/v1/reauthenticate", body); }

  // By what the user is known

  identities() { return this.#ask("GET", "/v1/me/identities"); }
  /** @param {import("./dossier.js").NewIdentity} body */
  link(body) { return this.#ask("POST", "/v1/me/identities", { body }); }
  /** @param {string} id */
  async unlink(id) { return this.#ask("DELETE", `/v1/me/identities/${part(id)}`); }

  // Users of the device

  /** @returns {Promise<DeviceUser[]>} */
  async users() {
    if (this.#session.isNew) return [];
    return (await this.#session.send("GET", "/v1/device", { device: true })).body.users;
  }
  /** @param {string} user */
  switchTo(user) { return this.#session.switchTo(user); }
  logout(user = this.user) { return this.#session.leave("POST", user, "/logout"); }
  /** @param {string} user */
  forget(user) { return this.#session.leave("DELETE", user); }

  // The user of this page

  profile() { return this.#ask("GET", "/v1/me"); }
  /** @param {object} body @param {Version} [options] */
  changeProfile(body, options) { return this.#ask("PATCH", "/v1/me", { ...options, body }); }
  /** @param {Blob} file */
  setPicture(file) { return this.#ask("PUT", "/v1/me/picture", { body: file }); }
  removePicture() { return this.#ask("DELETE", "/v1/me/picture"); }
  /** @param {{ picture: string | null }} profile */
  pictureURL({ picture }) { return picture === null ? null : this.#session.url + picture; }
  async deleteUser() {
    const user = this.user;
    await this.request("DELETE", "/v1/me");
    // The user is gone, whether or not it is known who is left.
    if (user) this.#session.drop(user, await this.users().catch(() => []));
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  request(method, path, options) { return this.#session.request(method, path, options); }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  async #ask(method, path, options) { return (await this.request(method, path, options)).body; }
  /** @param {string} path @param {string} email */
  async #mail(path, email) {
    // Of several who claim an address, the mail is to the one who is known on this device.
    return (await this.#session.sendKnown(path, { email })).body;
  }
  /** @param {string} path @param {object} body @param {string} [access] */
  async #post(path, body, access) {
    return (await this.#session.send("POST", path, { body, access })).body;
  }
}

/** @param {Dossier} dossier @returns {import("./dossier.js").Dossier["metadata"]} */
function metadata(dossier, path = "/v1/me/metadata") {
  return {
    read: () => dossier.request("GET", path),
    replace: (body, options) => dossier.request("PUT", path, { ...options, body }),
    patch: (body, options) => dossier.request("PATCH", path, { ...options, body }),
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
