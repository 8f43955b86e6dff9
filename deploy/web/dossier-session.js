// What lets the users of this browser in: their tokens, which dossier.js keeps and refreshes here.

/** @typedef {import("./dossier.js").Answer} Answer */
/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").Problem} Problem */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
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

/** The users of one app in this browser; what replaces a token is done by one page at a time. */
export class Session {
  #app;
  #isCookie;
  #name;
  // Where the device is in a cookie, nothing but this page keeps its tokens.
  #tokens = /** @type {Record<string, Tokens>} */ ({});
  #last = /** @type {Promise<unknown>} */ (Promise.resolve());

  /** @param {string} url @param {{ app?: string, device?: "secret" | "cookie" }} [options] */
  constructor(url, options) {
    if (!/^https?:\/\/[^/]/.test(url)) {
      throw refusal("invalid", `An address of a server begins with https:// or http://, not: ${url}`);
    }
    this.url = url.replace(/\/+$/, "");
    this.#app = options?.app;
    this.#isCookie = options?.device === "cookie";
    this.#name = ["dossier", this.#isCookie, this.url, options?.app].join(" ");
  }

  /** @returns {string | null} */
  get user() {
    return (sessionStorage.getItem(this.#name) ?? this.#state.active) || null;
  }

  /** Whether anybody ever was logged in here. */
  get isNew() { return this.#state.active === undefined; }

  /** @param {string} method @param {string} path @param {RequestOptions} [options] */
  async request(method, path, options) {
    const user = this.user;
    if (!user) throw nobody();
    const access = await this.access(user);
    try {
      return await this.send(method, path, { ...options, access });
    } catch (error) {
      if (!STALE.includes(/** @type {DossierError} */ (error).code)) throw error;
      return this.send(method, path, { ...options, access: await this.#refresh(user, access) });
    }
  }

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
  login(path, body) {
    return this.#alone(async () => {
      const answer = await this.sendKnown(path, body);
      return answer.body && this.#keep(answer.body, true);
    });
  }

  /**
   * Sends what anybody may, as the device that this browser is known by.
   * @param {string} path @param {object} body
   */
  sendKnown(path, body) {
    const ask = () => this.send("POST", path, { body, device: true });
    return ask().catch((error) => {
      // The answer of an earlier login was lost, and with it the secret: this is a new device.
      if (error.code !== "device_unknown" || !this.#state.secret) throw error;
      this.#state = { ...this.#state, secret: undefined };
      return ask();
    });
  }

  /**
   * Goes on in a new session of the user; no page may refresh the tokens of the one before meanwhile.
   * @param {string} path @param {object} body
   */
  async renew(path, body) {
    const user = this.user;
    if (!user) throw nobody();
    await this.access(user);
    await this.#alone(async () => {
      const { access } = this.#state.tokens[user] ?? {};
      const options = { body, access, device: this.#isCookie };
      this.#keep((await this.send("POST", path, options)).body, false);
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

  /** @param {string} user @param {DeviceUser[]} [left] one of whom this page goes on with, if it was its user */
  drop(user, left = []) {
    const isHere = this.user === user;
    const next = left.find(({ state }) => state === "active")?.user_id ?? "";
    const { [user]: _, ...tokens } = this.#state.tokens;
    const active = this.#state.active === user ? next : this.#state.active;
    this.#state = { ...this.#state, active, tokens };
    if (isHere) sessionStorage.setItem(this.#name, next);
  }

  /** @param {string} user @returns {Promise<string>} */
  switchTo(user) {
    const options = { body: { user_id: user }, device: true };
    return this.#alone(async () =>
      this.#keep((await this.send("PUT", "/v1/device/active", options)).body, true)
    );
  }

  /** @param {string} method @param {string | null} user @param {string} [tail] of the path */
  async leave(method, user, tail = "") {
    if (!user) throw nobody();
    const path = `/v1/device/users/${part(user)}${tail}`;
    return this.#alone(async () => {
      /** @type {DeviceUser[]} */
      const users = (await this.send(method, path, { device: true })).body.users;
      this.drop(user, users);
      return users;
    });
  }

  /** @param {string} user */
  async access(user) {
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
        const grant = (await this.send("POST", "/v1/token/refresh", options)).body;
        this.#keep(grant, false);
        return /** @type {string} */ (grant.access_token);
      } catch (error) {
        // Whatever its code, this is the way in that is left: to log in.
        if (/** @type {DossierError} */ (error).status === 401) this.drop(user);
        throw error;
      }
    });
  }

  /**
   * @param {string} method @param {string} path
   * @param {RequestOptions & { access?: string, device?: boolean }} options
   * @returns {Promise<Answer>}
   */
  async send(method, path, { body, type = "application/json", version, access, device }) {
    // What follows the address unparted would be a part of it, and have the token sent elsewhere.
    if (!path.startsWith("/")) throw refusal("invalid", `A path begins with a slash: ${path}`);
    const isFile = body instanceof Blob;
    const headers = new Headers();
    const shown = this.#isCookie ? "cookie" : this.#state.secret;
    if (this.#app) headers.set("Dossier-App", this.#app);
    if (access) headers.set("Authorization", `Bearer ${access}`);
    if (device && shown) headers.set("Dossier-Device", shown);
    if (body !== undefined) headers.set("Content-Type", isFile ? body.type || UNKNOWN : type);
    if (version === 0) headers.set("If-None-Match", "*");
    else if (version !== undefined) headers.set("If-Match", `"${version}"`);
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined || isFile ? body : JSON.stringify(body),
      credentials: this.#isCookie && device ? "include" : "omit",
    }).catch((cause) => {
      throw refusal("unreachable", UNREACHABLE, cause);
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

// What an access token is refused with when a new one may help.
const STALE = ["token_expired", "token_invalid", "session_ended"];

/** @param {Tokens} [tokens] */
function isFresh(tokens) {
  // Until the request is there, at least.
  return tokens !== undefined && tokens.expires > Date.now() + 10_000;
}

/**
 * An id or a key as a part of a path. Browsers take . and .. for steps to other paths, however they
 * are written.
 * @param {string} text
 */
export function part(text) {
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw refusal("invalid", `No path leads to what is called "${text}".`);
}

/** @param {number} status @param {string} code @param {string} title @returns {Problem} */
function problem(status, code, title) {
  return { type: "about:blank", title, status, code };
}

/**
 * What no server has answered.
 * @param {string} code @param {string} title @param {unknown} [cause]
 */
function refusal(code, title, cause) {
  return new DossierError(problem(0, code, title), { cause });
}

const nobody = () => refusal("not_logged_in", "Nobody is logged in here.");

// A browser does not tell a script which of the two it was.
const UNREACHABLE = "There was no answer: the server cannot be reached, or the app does not let in "
  + `pages of ${location.origin} (dossier app set APP allowed_origins=${location.origin}).`;

// Some systems know no type of HEIF; the server looks at the bytes.
const UNKNOWN = "application/octet-stream";
