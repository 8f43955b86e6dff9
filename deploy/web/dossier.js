// The client of Dossier for web pages, and for servers. dossier.d.ts documents its members.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   const dossier = new Dossier("https://users.example.com");
//   if (!dossier.user) await dossier.signInAnonymously();
//   await dossier.metadata.patch({ theme: "dark" });

import { activeOf, part, refusal, Session, sessions } from "./dossier-session.js";

export { DossierError } from "./dossier-session.js";

/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
/** @typedef {{ version?: number }} Version */
/** @typedef {{ next?: import("./dossier.js").Next }} Leaving */
/** @typedef {Leaving & { redirect?: string }} SigningOut */
/** @typedef {{ flow: string, public_key: any, expires_in: number }} Ceremony */

export class Dossier {
  #session;
  // Browsers have one request for a passkey at a time: the autofill waits for a prompt to end.
  #prompted = /** @type {Promise<unknown> | undefined} */ (undefined);
  #autofill = /** @type {AbortController | undefined} */ (undefined);

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
  async enrollSecondFactor(flow) {
    return (await this.#session.sendKnown("/v1/login/second-factor/enroll", { flow })).body;
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

  // Passkeys

  /** @returns {Promise<string>} */
  signInWithPasskey() {
    return this.#prompt(async () => this.#signInBy(await this.#beginPasskey()));
  }
  /** @param {{ name?: string }} [options] @returns {Promise<void>} */
  addPasskey(options) {
    const path = "/v1/me/passkeys";
    return this.#prompt(async () => {
      const { flow, public_key } = await this.#ask("POST", `${path}/options`);
      const credential = await passkey("create", public_key);
      await this.#session.renew(path, { flow, credential, ...options });
    });
  }
  /** @param {{ signal?: AbortSignal }} [options] @returns {Promise<string | null>} */
  async autofillPasskey(options) {
    let isOver = options?.signal?.aborted;
    let isFirst = true;
    const stop = () => {
      isOver = true;
      this.#autofill?.abort();
    };
    // One autofill replaces another.
    this.#session.onSignIn();
    this.#session.onSignIn = stop;
    options?.signal?.addEventListener("abort", stop);
    if (!await api()?.isConditionalMediationAvailable?.()) return null;
    for (;;) {
      await this.#prompted;
      if (isOver) return null;
      const turn = this.#autofill = new AbortController();
      let timer;
      try {
        const ceremony = await this.#beginPasskey();
        // The challenge expires, also while the computer sleeps and its timers stand still.
        const end = Date.now() + (ceremony.expires_in - 60) * 1000;
        timer = setInterval(() => { if (Date.now() > end) turn.abort(); }, 10_000);
        return await this.#signInBy(ceremony, { mediation: "conditional", signal: turn.signal });
      } catch (error) {
        const { code } = /** @type {import("./dossier.js").DossierError} */ (error);
        if (code !== "cancelled" && (isFirst || code !== "unreachable")) throw error;
      } finally {
        clearInterval(timer);
      }
      isFirst = false;
      // Without another reason, the next use of a field offers passkeys again.
      if (!turn.signal.aborted) {
        await new Promise((resolve) => {
          turn.signal.addEventListener("abort", resolve);
          addEventListener("focusin", resolve, { once: true });
        });
      }
    }
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
  /** @template Value @param {() => Promise<Value>} work @returns {Promise<Value>} */
  #prompt(work) {
    this.#autofill?.abort();
    const prompt = work();
    this.#prompted = prompt.catch(() => {});
    return prompt;
  }
  /** @returns {Promise<Ceremony>} */
  async #beginPasskey() {
    return (await this.#session.sendKnown("/v1/login/passkey/options", {})).body;
  }
  /** @param {Ceremony} ceremony @param {object} [more] @returns {Promise<string>} */
  async #signInBy({ flow, public_key }, more) {
    const credential = await passkey("get", public_key, more);
    return this.#signIn("/v1/login/passkey", { flow, credential }).catch((error) => {
      if (error.code === "passkey_unknown") {
        // The browser removes it from the device.
        const known = { rpId: public_key.rpId, credentialId: credential.id };
        api().signalUnknownCredential?.(known).catch(() => {});
      }
      throw error;
    });
  }
  /** @param {string} path @param {string} email */
  async #mail(path, email) {
    // Strangers cannot use up the mails of a user who is known on this device.
    return (await this.#session.sendKnown(path, { email })).body;
  }
}

/** The class of passkeys; undefined where there are no passkeys. @returns {any} */
const api = () => /** @type {any} */ (globalThis).PublicKeyCredential;

/**
 * Asks the browser for a passkey.
 * @param {"get" | "create"} kind @param {any} options @param {object} [more] @returns {Promise<any>}
 */
async function passkey(kind, options, more) {
  try {
    const publicKey = kind === "get"
      ? api().parseRequestOptionsFromJSON(options) : api().parseCreationOptionsFromJSON(options);
    return await navigator.credentials[kind]({ publicKey, ...more });
  } catch (error) {
    const { name } = /** @type {Error} */ (error);
    if (name === "InvalidStateError") {
      throw refusal("passkey_exists", "This device has a passkey of the user.", error);
    }
    throw name === "NotAllowedError" || name === "AbortError"
      ? refusal("cancelled", "The user has cancelled, or has no passkey here.", error)
      : refusal("passkeys_unavailable", "This browser has no passkeys for this page.", error);
  }
}

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
