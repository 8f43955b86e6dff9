// Keeps and refreshes the tokens of the users of this browser, for the other modules.

/** @typedef {import("./dossier.js").Answer} Answer */
/** @typedef {import("./dossier.js").DeviceUser} DeviceUser */
/** @typedef {import("./dossier.js").Next} Next */
/** @typedef {import("./dossier.js").Problem} Problem */
/** @typedef {import("./dossier.js").RequestOptions} RequestOptions */
/** @typedef {{ access: string, refresh?: string, expires: number } & Partial<Client>} Tokens */
/** @typedef {{ client: string, hint: string }} Client of a sign-in by redirect, and its ID token */
/** @typedef {{ signal?: AbortSignal, read?: (response: Response) => Promise<any> }} Reading */
/** @typedef {{ active?: string, secret?: string, tokens: Record<string, Tokens> }} State */

export class DossierError extends Error {
  /** @param {Problem} problem @param {{ retryAfter?: number, cause?: unknown }} [more] */
  constructor(problem, more) {
    // The cause, and what is specific to the request or what to do.
    super([problem.title, problem.detail].filter(Boolean).join(" "), { cause: more?.cause });
    this.name = "DossierError";
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    /** @type {string | undefined} */
    this.flow = problem.flow;
    /** @type {string[]} */
    this.methods = problem.methods ?? [];
    this.problem = problem;
    this.retryAfter = more?.retryAfter;
  }
}

/**
 * The session of each client.
 * @type {WeakMap<import("./dossier.js").Dossier, Session>}
 */
export const sessions = new WeakMap();

/** The users of one app in this browser. One page at a time replaces tokens. */
export class Session {
  #app;
  #isCookie;
  browser = storage(() => localStorage);
  #page = storage(() => sessionStorage);
  // The tokens of this page, if the device is in a cookie.
  #tokens = /** @type {Record<string, Tokens>} */ ({});
  #last = /** @type {Promise<unknown>} */ (Promise.resolve());
  // Whether a user has left this page: no other one takes the place until the page is loaded again.
  #isLeft = false;
  // Runs when a user has become the user of this page.
  onSignIn = () => {};
  // Runs when the page has another user, or none.
  onUser = () => {};
  // Runs when a request has written.
  onWrite = (/** @type {string} */ path, /** @type {number} */ version) => {};

  /** @param {string} url @param {{ app?: string, device?: "secret" | "cookie" }} [options] */
  constructor(url, options) {
    if (!/^https?:\/\/[^/]/.test(url)) {
      throw refusal("validation_failed", `A URL must begin with https:// or http://, not: ${url}`);
    }
    this.url = url.replace(/\/+$/, "");
    this.#app = options?.app;
    this.#isCookie = options?.device === "cookie";
    this.name = ["dossier", this.#isCookie, this.url, options?.app].join(" ");
  }

  /** @returns {string | null} */
  get user() {
    return this.#page.getItem(this.name) || !this.#isLeft && this.#state.active || null;
  }

  /** @param {string} user the user of this page from now on; empty for none */
  #choose(user) {
    this.#page.setItem(this.name, user);
    this.#isLeft = !user;
    this.onUser();
  }

  /** Whether the server knows no device of this browser. */
  get isNew() {
    const { active, secret } = this.#state;
    return active === undefined || !this.#isCookie && !secret;
  }

  /** @param {string} method @param {string} path @param {RequestOptions & Reading} [options] */
  async request(method, path, options) {
    const user = /** @type {string} */ (this.user);
    let access = await this.access();
    const ask = () => this.send(method, path, { ...options, access });
    const answer = await ask().catch(async (error) => {
      if (!STALE.includes(error.code)) throw error;
      access = await this.#refresh(user, access);
      return ask();
    });
    if (method !== "GET") this.onWrite(path, answer.version);
    return answer;
  }

  /** @returns {State} */
  get #state() {
    return { tokens: this.#tokens, ...JSON.parse(this.browser.getItem(this.name) ?? "{}") };
  }

  set #state({ tokens, ...rest }) {
    this.#tokens = tokens;
    const kept = this.#isCookie ? rest : { ...rest, tokens };
    this.browser.setItem(this.name, JSON.stringify(kept));
  }

  /** @template Value @param {() => Promise<Value>} work @returns {Promise<Value>} */
  alone(work) {
    // Without HTTPS there are no locks between pages, except on this machine. A server has no pages.
    const locks = hasPage && navigator.locks;
    if (locks) return locks.request(this.name, work);
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /**
   * Returns what the server answers, and keeps its tokens if there are any.
   * @param {string} path @param {object} body @returns {Promise<any>}
   */
  signIn(path, body) {
    return this.alone(async () => {
      const answer = await this.sendKnown(path, body);
      if (answer?.access_token) this.keep(answer, true);
      return answer;
    });
  }

  /**
   * Sends a request without an access token, with the secret of the device. Returns what the server
   * answers.
   * @param {string} path @param {object} body @returns {Promise<any>}
   */
  sendKnown(path, body) {
    const ask = async () => (await this.send("POST", path, { body, device: true })).body;
    return ask().catch((error) => {
      // The response of an earlier sign-in was lost, and its secret too. Become a new device.
      if (error.code !== "device_unknown" || !this.#state.secret) throw error;
      this.#state = { ...this.#state, secret: undefined };
      return ask();
    });
  }

  /**
   * Replaces the session of the user, and returns its recovery codes if there are new ones. Holds
   * the lock, since a refresh would use the old session.
   * @param {string} path @param {object} body @returns {Promise<any>}
   */
  async renew(path, body) {
    const user = /** @type {string} */ (this.user);
    await this.access();
    return this.alone(async () => {
      const { access } = this.#state.tokens[user] ?? {};
      const options = { body, access, device: this.#isCookie };
      const grant = (await this.send("POST", path, options)).body;
      this.keep(grant, false);
      return grant.recovery_codes;
    });
  }

  /** @param {any} grant @param {boolean} isChosen whether its user becomes the user of this page */
  keep(grant, isChosen) {
    const { active, secret, tokens } = this.#state;
    const user = grant.user_id;
    this.#state = {
      active: isChosen ? user : active,
      secret: grant.device_secret ?? secret,
      tokens: {
        ...tokens,
        [user]: {
          access: grant.access_token,
          refresh: grant.refresh_token,
          expires: Date.now() + grant.expires_in * 1000,
          client: grant.client,
          hint: grant.id_token ?? tokens[user]?.hint,
        },
      },
    };
    if (isChosen) {
      this.#choose(user);
      this.onSignIn();
    }
    return user;
  }

  /** @param {string} user @param {string} [next] the user who takes the place of this one */
  drop(user, next = "") {
    const isHere = this.user === user;
    const { [user]: _, ...tokens } = this.#state.tokens;
    const active = this.#state.active === user ? next : this.#state.active;
    this.#state = { ...this.#state, active, tokens };
    if (isHere) this.#choose(next);
  }

  /** @param {string} user @returns {Promise<string>} */
  switchTo(user) {
    const options = { body: { user_id: user }, device: true };
    return this.alone(async () =>
      this.keep((await this.send("PUT", "/v1/device/active", options)).body, true)
    );
  }

  /** @param {string} client @param {object} more @returns {Promise<any>} */
  async exchange(client, more) {
    const { body } = await this.send("POST", "/oauth/token", { body: { client_id: client, ...more } });
    return { ...body, client };
  }

  /** @param {string} path @param {Record<string, any>} parameters @returns {Promise<never>} */
  go(path, parameters) {
    location.assign(`${this.url}${path}?${new URLSearchParams(parameters)}`);
    // The page ends here.
    return new Promise(() => {});
  }

  /**
   * Signs a user of the device out.
   * @param {string} method @param {string | null} user @param {string} tail of the path
   * @param {Next} [next] @param {string} [redirect]
   */
  async leave(method, user, tail, next = "none", redirect) {
    if (!user) throw signedOut();
    const { client, hint } = this.#state.tokens[user] ?? {};
    if (client) {
      this.drop(user);
      return this.go("/oidc/logout", {
        client_id: client, id_token_hint: hint, post_logout_redirect_uri: redirect ?? address(),
      });
    }
    const path = `/v1/device/users/${part(user)}${tail}?next=${next}`;
    return this.alone(async () => {
      /** @type {DeviceUser[]} */
      const users = (await this.send(method, path, { device: true })).body.users;
      this.drop(user, next === "none" ? "" : activeOf(users));
      return users;
    });
  }

  /** Signs all users out. */
  leaveAll() {
    return this.alone(async () => {
      for (const { client, refresh, access } of Object.values(this.#state.tokens)) {
        const body = { client_id: client, token: refresh ?? access };
        if (client) await this.send("POST", "/oauth/revoke", { body });
      }
      /** @type {DeviceUser[]} */
      const users = this.isNew ? []
        : (await this.send("POST", "/v1/device/logout", { device: true })).body.users;
      // A browser that the server does not know stays new.
      this.#state = { ...this.#state, active: this.#state.active && "", tokens: {} };
      this.#choose("");
      return users;
    });
  }

  /** Returns an access token of the user of this page that is valid for a while. */
  async access() {
    const { user } = this;
    if (!user) throw signedOut();
    const held = this.#state.tokens[user];
    return isFresh(held) ? held.access : this.#refresh(user, held?.access);
  }

  /** @param {string} user @param {string} [spent] the access token that the server rejected */
  #refresh(user, spent) {
    return this.alone(async () => {
      const held = this.#state.tokens[user];
      // Another page was faster, or has signed the user out.
      if (isFresh(held) && held.access !== spent) return held.access;
      if (!held && !this.#isCookie) {
        this.drop(user);
        throw new DossierError(problem(401, "session_ended", "The user was signed out elsewhere."));
      }
      const body = this.#isCookie ? { user_id: user } : { refresh_token: held?.refresh };
      const options = { body, device: this.#isCookie };
      try {
        const grant = held?.client
          ? { ...await this.exchange(held.client, { grant_type: "refresh_token", refresh_token: held.refresh }), user_id: user }
          : (await this.send("POST", "/v1/token/refresh", options)).body;
        this.keep(grant, false);
        return /** @type {string} */ (grant.access_token);
      } catch (error) {
        // With every code, the user has to sign in again.
        if (/** @type {DossierError} */ (error).status === 401) this.drop(user);
        throw error;
      }
    });
  }

  /**
   * @param {string} method @param {string} path
   * @param {RequestOptions & Reading & { access?: string, device?: boolean }} options
   * @returns {Promise<Answer>}
   */
  async send(method, path, options) {
    const { body, type = "application/json", version, conflict, access, device, signal, read } = options;
    // Without the slash, the path would extend the host name and send the token to another host.
    if (!path.startsWith("/")) throw refusal("validation_failed", `A path must begin with a slash: ${path}`);
    const isFile = body instanceof Blob;
    const headers = new Headers();
    const shown = this.#isCookie ? "cookie" : this.#state.secret;
    if (this.#app) headers.set("Dossier-App", this.#app);
    if (access) headers.set("Authorization", `Bearer ${access}`);
    if (device && shown) headers.set("Dossier-Device", shown);
    if (body !== undefined) headers.set("Content-Type", isFile ? body.type || UNKNOWN : type);
    if (version === 0) headers.set("If-None-Match", "*");
    else if (version !== undefined) headers.set("If-Match", `"${version}"`);
    if (conflict) headers.set("Prefer", "return=conflict");
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined || isFile ? body : JSON.stringify(body),
      credentials: this.#isCookie && device ? "include" : "omit",
      signal,
    }).catch((cause) => {
      throw refusal("unreachable", unreachable(), cause);
    });
    const answer = await (response.ok && read ? read(response) : response.json().catch(() => null));
    if (!response.ok) {
      // The endpoint of tokens has errors of its own (RFC 6749). A refused grant is an ended session.
      const { error = "unexpected", error_description: title = `HTTP ${response.status}` } = answer ?? {};
      const unknown = error === "invalid_grant"
        ? problem(401, "session_ended", "The session has ended.") : problem(response.status, error, title);
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

/** Returns the address of the page without its query. */
export const address = () => location.origin + location.pathname;

const hasPage = typeof document !== "undefined";

// The codes for a rejected access token that a new one may replace.
const STALE = ["token_expired", "token_invalid", "session_ended"];

/** @param {Tokens} [tokens] */
function isFresh(tokens) {
  // The request needs time to arrive.
  return tokens !== undefined && tokens.expires > Date.now() + 10_000;
}

/** @param {DeviceUser[]} users */
export function activeOf(users) {
  return users.find(({ state }) => state === "active")?.user_id;
}

/**
 * Encodes an id or a key as a part of a path. Browsers resolve . and .. to other paths, even if
 * they are encoded.
 * @param {string} text
 */
export function part(text) {
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw refusal("validation_failed", `A path cannot contain the name "${text}".`);
}

/** @param {number} status @param {string} code @param {string} title @returns {Problem} */
function problem(status, code, title) {
  return { type: "about:blank", title, status, code };
}

/**
 * Returns the error for a request without a response.
 * @param {string} code @param {string} title @param {unknown} [cause]
 */
export function refusal(code, title, cause) {
  return new DossierError(problem(0, code, title), { cause });
}

const signedOut = () => refusal("not_logged_in", "No user is signed in here.");

function unreachable() {
  const words = "The server did not answer";
  if (!hasPage) return `${words}.`;
  // Browsers do not report to scripts which of the two it was.
  return `${words}, or the app does not allow the origin of this page. `
    + `The operator allows it: dossier app set --app APP allowed_origins=${location.origin}`;
}

/**
 * Returns the storage of a page. A server, a worker and a browser that forbids storage get one in
 * memory for each client, so a server cannot confuse the users of two requests.
 * @param {() => Storage} open @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">}
 */
function storage(open) {
  try {
    if (hasPage) return open();
  } catch { /* The browser forbids it. */ }
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => { kept.set(name, value); },
    removeItem: (name) => { kept.delete(name); },
  };
}

// Some systems know no type for HEIF. The server examines the bytes.
const UNKNOWN = "application/octet-stream";
