// Signs users in at the pages of a server of Dossier. dossier-redirect.d.ts documents its members.
//
//   import { Dossier } from "https://users.example.com/dossier.js";
//   import { handleRedirect, signInRedirect } from "https://users.example.com/dossier-redirect.js";
//   const dossier = new Dossier("https://users.example.com");
//   await handleRedirect(dossier);
//   if (!dossier.user) await signInRedirect(dossier, { client: "CLIENT_ID" });

import { address, refusal, sessions } from "./dossier-session.js";

/** @typedef {import("./dossier.js").Dossier} Dossier */
/** @typedef {import("./dossier-session.js").Session} Session */

/** @param {Dossier} dossier @param {import("./dossier-redirect.js").RedirectOptions} options */
export async function signInRedirect(dossier, { client, redirect = address(), ...more }) {
  const session = sessionOf(dossier);
  // Browsers compute hashes only for pages that arrive unchanged: by TLS, or from this machine.
  if (!crypto.subtle) throw refusal("validation_failed", "A sign-in by redirect needs https:// or localhost.");
  const [state, verifier] = [random(), random()];
  session.browser.setItem(place(session, state), JSON.stringify({ client, redirect, verifier }));
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return session.go("/authorize", {
    scope: SCOPES, ...more, response_type: "code", client_id: client, redirect_uri: redirect, state,
    code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: "S256",
  });
}

/** @param {Dossier} dossier @returns {Promise<string | null>} */
export async function handleRedirect(dossier) {
  const session = sessionOf(dossier);
  const answer = new URLSearchParams(location.search);
  const name = place(session, answer.get("state"));
  const kept = session.browser.getItem(name);
  // Another site could send the browser here with a code of its own user.
  if (!kept) return null;
  session.browser.removeItem(name);
  const { client, redirect, verifier } = JSON.parse(kept);
  history.replaceState(null, "", redirect);
  const error = answer.get("error");
  if (error) throw refusal(error, answer.get("error_description") ?? error);
  return session.alone(async () => {
    const grant = await session.exchange(client, {
      grant_type: "authorization_code", code: answer.get("code"), redirect_uri: redirect,
      code_verifier: verifier,
    });
    const { body } = await session.send("GET", "/v1/me", { access: grant.access_token });
    return session.keep({ ...grant, user_id: body.id }, true);
  });
}

/** @param {Dossier} dossier */
const sessionOf = (dossier) => /** @type {Session} */ (sessions.get(dossier));

/**
 * Returns where a sign-in under way is stored. All tabs read it, since the link of an email, such as
 * that to a new password, returns in another one.
 * @param {Session} session @param {string | null} state
 */
const place = (session, state) => `${session.name} redirect ${state}`;

/** @param {Uint8Array} bytes */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const SCOPES = "openid offline_access read:current_user create:current_user_metadata "
  + "update:current_user_metadata delete:current_user_metadata";
