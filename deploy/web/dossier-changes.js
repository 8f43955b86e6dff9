// Tells a page what of its user's data has changed. dossier-changes.d.ts documents its members.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   import { onChange } from "https://users.example.com/dossier-changes.js";
//   const dossier = new Dossier("https://users.example.com");
//   const stop = onChange(dossier, ["metadata"], () => show(dossier));

import { sessions } from "./dossier-session.js";

/** @typedef {import("./dossier.js").Dossier} Dossier */
/** @typedef {import("./dossier.js").DossierError} DossierError */
/** @typedef {import("./dossier-session.js").Session} Session */
/** @typedef {import("./dossier-changes.js").Changed} Changed */
/** @typedef {import("./dossier-changes.js").Part} Part */
/** @typedef {{ parts: Part[], fn: (changed: Changed | null) => void }} Listener */
/** What pages tell one another. One without members asks for the cursor.
 * @typedef {{ changed?: Changed | null, cursor?: string }} Message */

/** @param {Dossier} dossier @param {Part[]} parts @param {Listener["fn"]} fn @returns {() => void} */
export function onChange(dossier, parts, fn) {
  const session = /** @type {Session} */ (sessions.get(dossier));
  const changes = all.get(session) ?? new Changes(session);
  all.set(session, changes);
  return changes.add({ parts, fn });
}

/** @type {WeakMap<Session, Changes>} */
const all = new WeakMap();

/** The changes of the user of a page. One page of a browser receives them, and tells the others. */
class Changes {
  #session;
  #listeners = /** @type {Set<Listener>} */ (new Set());
  #channel = /** @type {BroadcastChannel | undefined} */ (undefined);
  #stopping = new AbortController();
  #cursor = "";
  // The versions that this page has told or written.
  #told = /** @type {Changed} */ ({});

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
    session.onUser = () => this.#start();
    session.onWrite = (path, version) => this.#announce(path, version);
  }

  /** @param {Listener} listener */
  add(listener) {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      if (this.#listeners.delete(listener) && !this.#listeners.size) this.#stop();
    };
  }

  #stop() {
    this.#stopping.abort();
    this.#channel?.close();
    this.#channel = undefined;
  }

  #start() {
    this.#stop();
    const { user, name } = this.#session;
    if (!user || !this.#listeners.size) return;
    const { signal } = this.#stopping = new AbortController();
    this.#cursor = "";
    this.#told = {};
    const shared = `${name} changes ${user}`;
    const work = () => this.#receive(user, signal);
    // A server has no other pages. Without HTTPS there are no locks, and each page has a stream.
    const locks = typeof document !== "undefined" ? navigator.locks : undefined;
    if (locks) {
      this.#channel = new BroadcastChannel(shared);
      this.#channel.onmessage = ({ data }) => this.#hear(data, user);
      this.#channel.postMessage({});
    }
    (locks ? locks.request(shared, { signal }, work) : work()).catch(() => {
      // It was stopped while another page had the stream.
    });
  }

  /** @param {string} user @param {AbortSignal} signal */
  async #receive(user, signal) {
    let wait = 0;
    for (;;) {
      await pause(wait, signal);
      if (signal.aborted) return;
      // A page that has not chosen its user follows the browser.
      if (![user, null].includes(this.#session.user)) return this.#start();
      try {
        await this.#stream(user, signal);
        // Not all pages at once, after the program on the server has ended.
        wait = 2_000 * Math.random();
      } catch (error) {
        // A token without the scope for it gets no further.
        if (signal.aborted && !isOver(error) || statusOf(error) === 403) return;
        wait = isOver(error) ? -1 : await this.#poll(user).catch((failure) => {
          if (isOver(failure)) return -1;
          return 1_000 * (/** @type {DossierError} */ (failure).retryAfter ?? 30);
        });
      }
      // The page may have another user by now.
      if (wait < 0) return [user, null].includes(this.#session.user) && this.#share(null, user);
    }
  }

  /**
   * Receives events until the server ends the stream.
   * @param {string} user @param {AbortSignal} signal
   */
  async #stream(user, signal) {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener("abort", abort);
    let timer = 0;
    // The server sends something every 25 seconds. A computer that has slept may miss the end.
    const live = () => {
      clearTimeout(timer);
      timer = /** @type {any} */ (setTimeout(abort, 60_000));
    };
    try {
      live();
      await this.#session.request("GET", `/v1/me/events${this.#since()}`, {
        signal: attempt.signal,
        read: async (response) => {
          const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
          const decoder = new TextDecoder();
          let text = "";
          for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            live();
            text += decoder.decode(value, { stream: true });
            const events = text.split("\n\n");
            text = /** @type {string} */ (events.pop());
            for (const event of events) this.#take(event, user);
          }
        },
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  /** @param {string} event @param {string} user */
  #take(event, user) {
    const field = (/** @type {string} */ name) =>
      new RegExp(`^${name}: (.*)$`, "m").exec(event)?.[1];
    this.#cursor = field("id") ?? this.#cursor;
    if (field("id")) this.#share(JSON.parse(field("data") ?? "{}"), user);
  }

  /**
   * Asks once, and returns the milliseconds until the next attempt.
   * @param {string} user
   */
  async #poll(user) {
    const { body } = await this.#session.request("GET", `/v1/me/changes${this.#since()}`);
    this.#cursor = body.cursor;
    this.#share(body.changed, user);
    return body.poll_after_seconds * 1_000 * (0.9 + 0.2 * Math.random());
  }

  #since() { return this.#cursor && `?since=${this.#cursor}`; }

  /**
   * Tells this page and the others.
   * @param {Changed | null} changed @param {string} user
   */
  #share(changed, user) {
    this.#channel?.postMessage({ changed, cursor: this.#cursor });
    this.#tell(changed, user);
  }

  /**
   * Takes what another page tells. The cursor lets this page go on, if that one is closed.
   * @param {Message} message @param {string} user
   */
  #hear({ changed, cursor }, user) {
    if (changed !== undefined) this.#tell(changed, user);
    if (cursor && (changed || !this.#cursor)) this.#cursor = cursor;
    if (changed === undefined && !cursor && this.#cursor) {
      this.#channel?.postMessage({ cursor: this.#cursor });
    }
  }

  /** @param {Changed | null} changed @param {string} user */
  #tell(changed, user) {
    if (!changed) {
      const told = [...this.#listeners];
      this.#stop();
      this.#session.drop(user);
      for (const { fn } of told) Promise.resolve(null).then(fn);
      return;
    }
    const news = Object.entries(changed).filter(([part, { version }]) => {
      const isKnown = version !== undefined && this.#told[/** @type {Part} */ (part)]?.version === version;
      return !isKnown;
    });
    Object.assign(this.#told, changed);
    for (const { parts, fn } of this.#listeners) {
      const some = news.filter(([part]) => parts.includes(/** @type {Part} */ (part)));
      // An error of the page is its own.
      if (some.length) Promise.resolve(Object.fromEntries(some)).then(fn);
    }
  }

  /**
   * Tells the other pages what this one has written.
   * @param {string} path @param {number} version
   */
  #announce(path, version) {
    const part = PARTS[/^\/v1\/me\/?([a-z-]*)/.exec(path)?.[1] ?? "none"];
    if (!part) return;
    // The version of a property is not that of all.
    const changed = { [part]: part === "properties" || !version ? {} : { version } };
    Object.assign(this.#told, changed);
    this.#channel?.postMessage({ changed });
  }
}

/** @type {Record<string, Part>} */
const PARTS = {
  "": "profile", picture: "profile", metadata: "metadata", "custom-data": "custom_data",
  properties: "properties",
};

/**
 * Returns whether the user has to sign in again.
 * @param {unknown} error
 */
const isOver = (error) =>
  statusOf(error) === 401 || /** @type {DossierError} */ (error).code === "not_logged_in";

/** @param {unknown} error */
const statusOf = (error) => /** @type {DossierError} */ (error).status;

/**
 * Waits for a time, and until the browser is online.
 * @param {number} time @param {AbortSignal} signal @returns {Promise<void>}
 */
function pause(time, signal) {
  return new Promise((resolve) => {
    const isOffline = typeof document !== "undefined" && !navigator.onLine;
    const timer = isOffline ? undefined : setTimeout(end, time);
    function end() {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    }
    globalThis.addEventListener?.("online", end);
    signal.addEventListener("abort", end);
  });
}
