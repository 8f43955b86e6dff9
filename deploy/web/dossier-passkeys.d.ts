/**
 * Passkeys. It is a module of its own: an app without passkeys does not load it.
 *
 * The app needs its settings `passkey` and `passkey_rp_id`. If the browser gives no passkey, the error
 * is "cancelled", "passkey_exists" or "passkeys_unavailable".
 */
import type { Dossier } from "./dossier.js";

/**
 * Signs in with a passkey, which the browser asks for: call it when the user presses a button. Returns
 * the user's id. The error "cancelled" needs no message. After "passkey_unknown", the browser forgets
 * the passkey.
 */
export function signInWithPasskey(dossier: Dossier<any, any>): Promise<string>;

/**
 * Offers the passkeys of the device in the field that has `autocomplete="username webauthn"`. Call it
 * when the page shows the field. Returns the user's id after a sign-in with a passkey; null after
 * another sign-in of this client, an abort of `signal`, or if the browser has no such offer. After
 * an error that the user shall see, call it again.
 */
export function autofillPasskey(
  dossier: Dossier<any, any>, options?: { signal?: AbortSignal }
): Promise<string | null>;

/**
 * Makes a passkey for the user of this page, who needs a recent sign-in. `name` is by default that
 * of the browser. A guest keeps the id and the data. This page continues in a new session. With
 * the error "passkey_exists", the device has one already.
 */
export function addPasskey(dossier: Dossier<any, any>, options?: { name?: string }): Promise<void>;
