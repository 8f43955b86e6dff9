/**
 * The changes of the user's data, as they happen in other tabs, on other devices and on the server.
 * It is a module of its own: an app that does not need it does not load it.
 */
import type { Dossier } from "./dossier.js";

/**
 * Calls a function when parts of the user of this page have changed, within about a second. Call it
 * before you read the data, so that no change is missed. Returns a function that stops it.
 *
 * One tab receives a stream from the server and tells the others. A write in one tab reaches the others
 * without the server. Without the stream, it asks the server every 30 seconds. While the browser is
 * offline, it waits, and then reports what has changed meanwhile.
 *
 * It says that a part differs, not how often: read the part again. It goes on with another user after
 * a sign-in or a switch in this page.
 *
 * The token of the user needs the scope `read:current_user`.
 *
 * @param fn gets the changed parts. It gets null when the session of the user has ended; `user` of the
 *   client is null then.
 */
export function onChange(
  dossier: Dossier<any, any>, parts: Part[], fn: (changed: Changed | null) => void
): () => void;

/** A part of the user. */
export type Part =
  | "profile" | "metadata" | "app_metadata" | "custom_data" | "properties" | "sessions" | "devices"
  | "identities" | "factors" | "api_keys" | "consents";

/** The changed parts. Profile and documents have their version; 0 is a deleted document. */
export type Changed = { [P in Part]?: { version?: number } };
