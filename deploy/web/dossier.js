// The client of Dossier for web pages; dossier.d.ts says what each of its members does.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   const dossier = new Dossier("https://users.example.com");
//   if (!dossier.user) await dossier.loginAnonymously();
//   await dossier.metadata.patch({ theme: "dark" });

/** @typedef {import("./dossier.js").Answer} Answer */
/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").Problem} Problem */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
/** @typedef {{ version?: number }} Version */
/** @typedef {{ access: string, refresh?: string, expires: number }} Tokens */
/** @typedef {{ active?: string, secret?: string, tokens: Record<string, Tokens> }} State */

export class DossierError extends Error {
  /** @param {Problem} problem @param {{ retryAfter?: number, cause?: unknown }} [more] */
  constructor(problem, more) {
    super(problem.detail ?? problem.title, { cause: more?.cause });
    this.name = "DossierError";
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.problem = problem;
    this.retryAfter = more?.retryAfter;
  }
}

export class Dossier {
  #url;
  #app;
  #isCookie;
  #name;
  // Where the device is in a cookie, nothing but this page keeps its tokens.
  #tokens = /** @type {Record<string, Tokens>} */ ({});
  #last = /** @type {Promise<unknown>} */ (Promise.resolve());

  /** @param {string} url @param {{ app?: string, device?: "secret" | "cookie" }} [options] */
  constructor(url, options) {
    this.#url = url.replace(/\/+$/, "");
    this.#app = options?.app;
    this.#isCookie = options?.device === "cookie";
    this.#name = ["dossier", this.#isCookie, this.#url, options?.app].join(" ");
    this.metadata = metadata(this);
    this.customData = customData(this);
    this.properties = properties(this);
  }

  /** @returns {string | null} */
  get user() {
    return (sessionStorage.getItem(this.#name) ?? this.#state.active) || null;
  }

  // Ways to log in

  loginAnonymously() { return this.#login("/v1/login/anonymous", {}); }
  /** @param {string} email @param {string} password */
  register(email, password) { return this.#login("/v1/register", { email, password }); }
  /** @param {string} email @param {string} password */
  login(email, password) { return this.#login("/v1/login/password", { email, password }); }
  /** @param {string} token */
  loginWithToken(token) { return this.#login("/v1/login/jwt", { token }); }
  /** @param {string} key */ loginWithKey(key) { return this.#login("/v1/login/api-key", { key }); }

  /** @param {string} email */
  requestCode(email) { return this.#post("/v1/login/code/request", { email }); }
  /** @param {{ request: string }} asked @param {string} code */
  loginWithCode({ request }, code) { return this.#login("/v1/login/code", { request, code }); }

  // Addresses and passwords

  /** @param {string} email */
  requestConfirmation(email) { return this.#post("/v1/confirm/request", { email }); }
  /** @param {string} token @param {string} [password] */
  async confirm(token, password) {
    // Without a session, this browser may be known to be the claimant's.
    if (!this.user && !password) return this.#login("/v1/confirm", { token });
    const access = this.user ? await this.#access(this.user) : undefined;
    await this.#post("/v1/confirm", { token, password }, access);
    return this.user;
  }
  /** @param {string} email */
  requestReset(email) { return this.#post("/v1/password/reset-request", { email }); }
  /** @param {string} token @param {string} password */
  resetPassword(token, password) { return this.#post("/v1/password/reset", { token, password }); }
  /** @param {string} current_password @param {string} new_password */
  changePassword(current_password, new_password) {
    return this.#renew("/v1/password/change", { current_password, new_password });
  }
  /** @param {string} email */
  changeEmail(email) { return this.#ask("POST", "/v1/me/email", { body: { email } }); }
  /** @param {string} token */
  confirmEmail(token) { return this.#ask("POST", "/v1/me/email/confirm", { body: { token } }); }
  /** @param {string} token @param {string} password */
  restoreEmail(token, password) { return this.#post("/v1/email/restore", { token, password }); }
  /** @param {import("./dossier.js").Evidence} body */
  reauthenticate(body) { return this.#renew("/v1/reauthenticate", body); }

  // By what the user is known

  identities() { return this.#ask("GET", "/v1/me/identities"); }
  /** @param {import("./dossier.js").NewIdentity} body */
  link(body) { return this.#ask("POST", "/v1/me/identities", { body }); }
  /** @param {string} id */ unlink(id) { return this.#ask("DELETE", `/v1/me/identities/${id}`); }

  // Users of the device

  /** @returns {Promise<DeviceUser[]>} */
  async users() {
    if (this.#state.active === undefined) return [];
    return (await this.#send("GET", "/v1/device", { device: true })).body.users;
  }
  /** @param {string} user @returns {Promise<string>} */
  switchTo(user) {
    const options = { body: { user_id: user }, device: true };
    return this.#alone(async () =>
      this.#keep((await this.#send("PUT", "/v1/device/active", options)).body, true)
    );
  }
  logout(user = this.user) { return this.#leave("POST", `/v1/device/users/${user}/logout`, user); }
  /** @param {string} user */
  forget(user) { return this.#leave("DELETE", `/v1/device/users/${user}`, user); }

  // The user of this page

  profile() { return this.#ask("GET", "/v1/me"); }
  /** @param {object} body @param {Version} [options] */
  changeProfile(body, options) { return this.#ask("PATCH", "/v1/me", { ...options, body }); }
  /** @param {Blob} file */
  setPicture(file) { return this.#ask("PUT", "/v1/me/picture", { body: file }); }
  removePicture() { return this.#ask("DELETE", "/v1/me/picture"); }
  /** @param {{ picture: string | null }} profile */
  pictureURL({ picture }) { return picture === null ? null : this.#url + picture; }
  async deleteUser() {
    const user = this.user;
    await this.request("DELETE", "/v1/me");
    if (user) this.#drop(user);
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  async request(method, path, options) {
    const user = this.user;
    if (!user) throw new DossierError(NOBODY);
    const access = await this.#access(user);
    try {
      return await this.#send(method, path, { ...options, access });
    } catch (error) {
      if (!STALE.includes(/** @type {DossierError} */ (error).code)) throw error;
      return this.#send(method, path, { ...options, access: await this.#refresh(user, access) });
    }
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  async #ask(method, path, options) { return (await this.request(method, path, options)).body; }
  /** @param {string} path @param {object} body @param {string} [access] */
  async #post(path, body, access) {
    return (await this.#send("POST", path, { body, access })).body;
  }

  // Tokens. What replaces one is done by one page at a time.

  /** @returns {State} */
  get #state() {
    return { tokens: this.#tokens, ...JSON.parse(localStorage.getItem(this.#name) ?? "{}") };
  }

  set #state({ tokens, ...rest }) {
    this.#tokens = tokens;
    const kept = this.#isCookie ? rest : { ...rest, tokens };
    localStorage.setItem(this.#name, JSON.stringify(kept));
  }

  /** @template Value @param {() => Promise<Value>} work @returns {Promise<Value>} */
  #alone(work) {
    // Without HTTPS there are no locks between pages, except on this machine.
    if (navigator.locks) return navigator.locks.request(this.#name, work);
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** @param {string} path @param {object} body @returns {Promise<any>} */
  #login(path, body) {
    const ask = () => this.#send("POST", path, { body, device: true });
    return this.#alone(async () => {
      const answer = await ask().catch((error) => {
        // The answer of an earlier login was lost, and with it the secret: this is a new device.
        if (error.code !== "device_unknown" || !this.#state.secret) throw error;
        this.#state = { ...this.#state, secret: undefined };
        return ask();
      });
      return answer.body && this.#keep(answer.body, true);
    });
  }

  /**
   * Goes on in a new session of the user; no page may refresh the tokens of the one before meanwhile.
   * @param {string} path @param {object} body
   */
  async #renew(path, body) {
    const user = this.user;
    if (!user) throw new DossierError(NOBODY);
    await this.#access(user);
    await this.#alone(async () => {
      const { access } = this.#state.tokens[user] ?? {};
      const options = { body, access, device: this.#isCookie };
      this.#keep((await this.#send("POST", path, options)).body, false);
    });
  }

  /** @param {any} grant @param {boolean} isChosen whether its user becomes that of this page */
  #keep(grant, isChosen) {
    const { active, secret, tokens } = this.#state;
    const { user_id: user, access_token: access, refresh_token: refresh } = grant;
    const expires = Date.now() + grant.expires_in * 1000;
    this.#state = {
      active: isChosen ? user : active,
      secret: grant.device_secret ?? secret,
      tokens: { ...tokens, [user]: { access, refresh, expires } },
    };
    if (isChosen) sessionStorage.setItem(this.#name, user);
    return user;
  }

  /** @param {string} user @param {string} [next] of this page, if it was its user who left */
  #drop(user, next = "") {
    const isHere = this.user === user;
    const { [user]: _, ...tokens } = this.#state.tokens;
    const active = this.#state.active === user ? next : this.#state.active;
    this.#state = { ...this.#state, active, tokens };
    if (isHere) sessionStorage.setItem(this.#name, next);
  }

  /** @param {string} method @param {string} path @param {string | null} user */
  #leave(method, path, user) {
    return this.#alone(async () => {
      /** @type {DeviceUser[]} */
      const users = (await this.#send(method, path, { device: true })).body.users;
      if (user) this.#drop(user, users.find(({ state }) => state === "active")?.user_id);
      return users;
    });
  }

  /** @param {string} user */
  async #access(user) {
    const held = this.#state.tokens[user];
    return isFresh(held) ? held.access : this.#refresh(user, held?.access);
  }

  /** @param {string} user @param {string} [spent] the access token that is of no more use */
  #refresh(user, spent) {
    return this.#alone(async () => {
      const held = this.#state.tokens[user];
      // Another page was faster.
      if (isFresh(held) && held.access !== spent) return held.access;
      const body = this.#isCookie ? { user_id: user } : { refresh_token: held?.refresh };
      const options = { body, device: this.#isCookie };
      try {
        const grant = (await this.#send("POST", "/v1/token/refresh", options)).body;
        this.#keep(grant, false);
        return /** @type {string} */ (grant.access_token);
      } catch (error) {
        // Whatever its code, this is the way in that is left: to log in.
        if (/** @type {DossierError} */ (error).status === 401) this.#drop(user);
        throw error;
      }
    });
  }

  /**
   * @param {string} method @param {string} path
   * @param {RequestOptions & { access?: string, device?: boolean }} options
   * @returns {Promise<Answer>}
   */
  async #send(method, path, { body, type = "application/json", version, access, device }) {
    const isFile = body instanceof Blob;
    const headers = new Headers();
    const shown = this.#isCookie ? "cookie" : this.#state.secret;
    if (this.#app) headers.set("Dossier-App", this.#app);
    if (access) headers.set("Authorization", `Bearer ${access}`);
    if (device && shown) headers.set("Dossier-Device", shown);
    if (body !== undefined) headers.set("Content-Type", isFile ? body.type : type);
    if (version === 0) headers.set("If-None-Match", "*");
    else if (version !== undefined) headers.set("If-Match", `"${version}"`);
    const response = await fetch(this.#url + path, {
      method,
      headers,
      body: body === undefined || isFile ? body : JSON.stringify(body),
      credentials: this.#isCookie && device ? "include" : "omit",
    }).catch((cause) => {
      throw new DossierError(problem(0, "unreachable", "There was no answer."), { cause });
    });
    const answer = await response.json().catch(() => null);
    if (!response.ok) {
      const unknown = problem(response.status, "unexpected", `HTTP ${response.status}`);
      const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
      throw new DossierError(answer?.code ? answer : unknown, { retryAfter });
    }
    return {
      body: answer,
      version: Number(/\d+/.exec(response.headers.get("ETag") ?? "0")),
      next: /<([^>]*)>/.exec(response.headers.get("Link") ?? "")?.[1] ?? null,
    };
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
  const place = (key, { keep } = {}) =>
    `/${encodeURIComponent(key)}${keep ? `?keep=${keep}` : ""}`;
  return {
    all: () => ask("GET"),
    versions: () => ask("GET", "?versions=true"),
    get: (key) => ask("GET", place(key)),
    set: (key, value, options) =>
      ask("PUT", place(key, options), { body: { value }, version: options?.version }),
    remove: (key, options) =>
      ask("DELETE", place(key, options), { version: options?.version }),
    merge: (body) => ask("PATCH", "", { body }),
  };
}

// What an access token is refused with when a new one may help.
const STALE = ["token_expired", "token_invalid", "session_ended"];

/** @param {Tokens} [tokens] */
function isFresh(tokens) {
  // Until the request is there, at least.
  return tokens !== undefined && tokens.expires > Date.now() + 10_000;
}

/** @param {number} status @param {string} code @param {string} title @returns {Problem} */
function problem(status, code, title) {
  return { type: "about:blank", title, status, code };
}

const NOBODY = problem(0, "not_logged_in", "Nobody is logged in here.");
