// Signs users in by passkeys, and adds one. dossier-passkeys.d.ts documents its members.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   import { signInWithPasskey } from "https://users.example.com/dossier-passkeys.js";
//   const dossier = new Dossier("https://users.example.com");
//   button.onclick = () => signInWithPasskey(dossier);

import { refusal, sessions } from "./dossier-session.js";

/** @typedef {import("./dossier.js").Dossier} Dossier */
/** @typedef {import("./dossier-session.js").Session} Session */
/** @typedef {{ flow: string, public_key: any, expires_in: number }} Ceremony */

// Browsers have one request for a passkey at a time: the autofill waits for a prompt to end.
let prompted = /** @type {Promise<unknown> | undefined} */ (undefined);
let autofill = /** @type {AbortController | undefined} */ (undefined);

/** @param {Dossier} dossier @returns {Promise<string>} */
export function signInWithPasskey(dossier) {
  const session = sessionOf(dossier);
  return prompt(async () => signIn(session, await begin(session)));
}

/** @param {Dossier} dossier @param {{ name?: string }} [options] @returns {Promise<void>} */
export function addPasskey(dossier, options) {
  const session = sessionOf(dossier);
  const path = "/v1/me/passkeys";
  return prompt(async () => {
    const { flow, public_key } = (await session.request("POST", `${path}/options`)).body;
    const credential = await passkey("create", public_key);
    await session.renew(path, { flow, credential, ...options });
  });
}

/**
 * @param {Dossier} dossier @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<string | null>}
 */
export async function autofillPasskey(dossier, options) {
  const session = sessionOf(dossier);
  let turn = /** @type {AbortController | undefined} */ (undefined);
  let isOver = options?.signal?.aborted;
  let isFirst = true;
  const stop = () => {
    isOver = true;
    turn?.abort();
  };
  // One autofill replaces another.
  session.onSignIn();
  session.onSignIn = stop;
  options?.signal?.addEventListener("abort", stop);
  if (!await api()?.isConditionalMediationAvailable?.()) return null;
  for (;;) {
    await prompted;
    if (isOver) return null;
    const current = turn = autofill = new AbortController();
    let timer;
    try {
      const ceremony = await begin(session);
      // The challenge expires, also while the computer sleeps and its timers stand still.
      const end = Date.now() + (ceremony.expires_in - 60) * 1000;
      timer = setInterval(() => { if (Date.now() > end) current.abort(); }, 10_000);
      const more = { mediation: "conditional", signal: current.signal };
      return await signIn(session, ceremony, more);
    } catch (error) {
      const { code } = /** @type {import("./dossier.js").DossierError} */ (error);
      if (code !== "cancelled" && (isFirst || code !== "unreachable")) throw error;
    } finally {
      clearInterval(timer);
    }
    isFirst = false;
    // Without another reason, the next use of a field offers passkeys again.
    if (!current.signal.aborted) {
      await new Promise((resolve) => {
        current.signal.addEventListener("abort", resolve);
        addEventListener("focusin", resolve, { once: true });
      });
    }
  }
}

/** @param {Dossier} dossier */
const sessionOf = (dossier) => /** @type {Session} */ (sessions.get(dossier));

/** The class of passkeys; undefined where there are no passkeys. @returns {any} */
const api = () => /** @type {any} */ (globalThis).PublicKeyCredential;

/** @template Value @param {() => Promise<Value>} work @returns {Promise<Value>} */
function prompt(work) {
  autofill?.abort();
  const asked = work();
  prompted = asked.catch(() => {});
  return asked;
}

/** @param {Session} session @returns {Promise<Ceremony>} */
const begin = (session) => session.sendKnown("/v1/login/passkey/options", {});

/**
 * @param {Session} session @param {Ceremony} ceremony @param {object} [more]
 * @returns {Promise<string>}
 */
async function signIn(session, { flow, public_key }, more) {
  const credential = await passkey("get", public_key, more);
  try {
    return (await session.signIn("/v1/login/passkey", { flow, credential })).user_id;
  } catch (error) {
    if (/** @type {import("./dossier.js").DossierError} */ (error).code === "passkey_unknown") {
      // The browser removes it from the device.
      const known = { rpId: public_key.rpId, credentialId: credential.id };
      api().signalUnknownCredential?.(known).catch(() => {});
    }
    throw error;
  }
}

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
