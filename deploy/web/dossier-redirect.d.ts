/**
 * The sign-in at the pages of the server, which know all ways to sign in. It is a module of its own:
 * an app with its own forms does not load it.
 */
import type { Dossier } from "./dossier.js";

/**
 * Leaves the page for the pages of the server. The browser returns to this page, or to `redirect`:
 * call `handleRedirect` there. Keeps tokens as the `device` "secret" does.
 */
export function signInRedirect(dossier: Dossier<any, any>, options: RedirectOptions): Promise<never>;

/**
 * Completes a sign-in by redirect, and returns the user's id. Returns null if the page was opened in
 * another way, so call it whenever the page loads. The error "access_denied" means that the user
 * went back.
 */
export function handleRedirect(dossier: Dossier<any, any>): Promise<string | null>;

/** A sign-in by redirect. Other members are parameters of `/authorize`, such as `login_hint`. */
export type RedirectOptions = {
  /** The id of a client of the kind `single_page`. */
  client: string;
  /** One of the client's `callback_urls`; the address of the page, without its query, by default. */
  redirect?: string;
  /** By default, what reads and writes the user's data, and stays signed in. */
  scope?: string;
  [parameter: string]: string | undefined;
};
