// Signs a user in with OpenID Connect (code and PKCE), and keeps the settings of the user.
// A library does the first part in fewer lines; this page shows each request.

const client = "demo";
const issuer = location.origin;
const page = location.origin + location.pathname;
const element = (id) => document.getElementById(id);

// ——— Sign-in ———

/** Returns bytes in base64url. */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Sends the browser to Dossier's pages. */
async function signIn(parameters = {}) {
  const pending = { state: random(), nonce: random(), verifier: random() };
  // The link of an email, such as that to a new password, returns in another tab.
  localStorage.setItem(`pending ${pending.state}`, JSON.stringify(pending));
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  location.assign(`${issuer}/authorize?` + new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: page,
    scope: "openid profile email read:current_user update:current_user_metadata",
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64url(hash),
    code_challenge_method: "S256",
    ...parameters,
  }));
}

/** Exchanges the code in the address of this page for tokens; null without one. */
async function finish() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state")) return null;
  const key = `pending ${answer.get("state")}`;
  const pending = JSON.parse(localStorage.getItem(key));
  history.replaceState(null, "", page);
  localStorage.removeItem(key);
  if (!pending) return null;
  if (answer.get("iss") !== `${issuer}/`)
    throw new Error("This response belongs to another sign-in.");
  if (answer.has("error")) {
    if (answer.get("error") === "login_required") return null;
    throw new Error(answer.get("error_description"));
  }
  const response = await fetch(`${issuer}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: client,
      code: answer.get("code"),
      redirect_uri: page,
      code_verifier: pending.verifier,
    }),
  });
  const tokens = await response.json();
  if (!response.ok) throw new Error(tokens.error_description);
  if (claims(tokens.id_token).nonce !== pending.nonce)
    throw new Error("This ID token belongs to another sign-in.");
  return tokens;
}

/** Returns the claims of a token that came straight from Dossier. */
function claims(token) {
  const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
}

/** The tokens of this tab, which stay when it is reloaded. */
let tokens = JSON.parse(sessionStorage.getItem("tokens"));

function keep(newTokens) {
  tokens = newTokens;
  if (tokens) sessionStorage.setItem("tokens", JSON.stringify(tokens));
  else sessionStorage.removeItem("tokens");
}

/** Sends a request with the access token. */
async function send(method, path, headers = {}, body) {
  const response = await fetch(issuer + path, {
    method,
    headers: { Authorization: `Bearer ${tokens.access_token}`, ...headers },
    body: body && JSON.stringify(body),
  });
  // The token has expired, or the user has ended the session.
  if (response.status === 401) keep(null);
  return response;
}

/** Returns the JSON of a response. */
async function json(response) {
  const answer = await response.json();
  if (!response.ok) throw new Error([answer.title, answer.detail].filter(Boolean).join(" "));
  return answer;
}

// ——— The metadata, and conflicts between tabs ———

/** The metadata as this tab last read it, with its version. */
let base = { settings: {}, version: null };

/** Sends a request about the metadata. Returns the metadata and its version; null for a conflict. */
async function metadata(method, headers, body) {
  const response = await send(method, "/v1/me/metadata", headers, body);
  if (response.status === 412) return null;
  return { settings: await json(response), version: response.headers.get("ETag") };
}

/** Stores changes of a version; returns null if that is no longer the newest one. */
const store = (changes, version) =>
  metadata("PATCH", { "Content-Type": "application/merge-patch+json", "If-Match": version }, changes);

/** Saves the form. Two tabs may change different settings, but not the same one. */
async function save() {
  const mine = typed();
  const changed = Object.keys(mine).filter((name) => mine[name] !== (base.settings[name] ?? ""));
  const changes = Object.fromEntries(changed.map((name) => [name, mine[name]]));
  let saved = await store(changes, base.version);
  while (!saved) {
    const theirs = await metadata("GET");
    const isOpen = (name) => (theirs.settings[name] ?? "") !== (base.settings[name] ?? "")
      && theirs.settings[name] !== mine[name];
    const open = changed.filter(isOpen);
    if (open.length > 0) return ask(open, changes, theirs);
    saved = await store(changes, theirs.version);
  }
  showSettings(saved);
  return "Saved.";
}

/** Shows what was there before, what is there now and what the user wants, and lets the user choose. */
function ask(names, changes, theirs) {
  const row = (label, settings) => {
    const [box, term, value] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = label;
    value.textContent = names.map((name) => `${name}: ${settings[name] ?? "–"}`).join("\n");
    box.append(term, value);
    return box;
  };
  element("versions").replaceChildren(
    row("Before", base.settings), row("Theirs, stored now", theirs.settings), row("Yours", changes));
  const choose = (kept) => work(async () => {
    // Their version is now the base, and their values replace those that the user drops.
    if (!kept) for (const name of names) delete changes[name];
    base = theirs;
    showSettings({ ...theirs, settings: { ...theirs.settings, ...changes } }, theirs);
    return save();
  });
  element("keep-mine").onclick = () => choose(true);
  element("keep-theirs").onclick = () => choose(false);
  element("conflict").hidden = false;
  element("conflict").focus();
  return "Another tab was faster. Choose what to keep.";
}

// ——— The page ———

/** Returns the settings in the form. */
const typed = () => Object.fromEntries(new FormData(element("settings")));

/** Gives the page a theme; "system" follows the browser. */
function apply(theme) {
  document.documentElement.dataset.theme = theme;
}

/** Shows settings in the form; `stored` is what Dossier has. */
function showSettings(shown, stored = shown) {
  base = stored;
  const { theme, note } = element("settings").elements;
  theme.value = ["light", "dark"].includes(shown.settings.theme) ? shown.settings.theme : "system";
  note.value = shown.settings.note ?? "";
  apply(theme.value);
  element("stored").textContent = JSON.stringify(stored.settings, null, 2);
  element("conflict").hidden = true;
}

/** Returns a text in which an address may break after the "@" and before each dot. */
function breakable(text) {
  const parts = text.includes("@") ? text.split(/(?<=@)|(?=\.)/) : [text];
  return parts.flatMap((part, index) =>
    index === 0 ? [part] : [document.createElement("wbr"), part]);
}

async function showUser() {
  const user = await json(await send("GET", "/userinfo"));
  element("picture").src = user.picture;
  // A user who has chosen no name has the address as name.
  element("name").replaceChildren(...breakable(user.name));
  element("email").replaceChildren(...breakable(user.name === user.email ? "" : user.email));
  showSettings(await metadata("GET"));
  for (const id of ["user", "session"]) element(id).hidden = false;
  return "You're signed in.";
}

/** Does some work, and shows its result or its error. */
async function work(task) {
  const status = element("status");
  try {
    status.textContent = await task();
    status.className = "";
  } catch (error) {
    status.textContent = `Error: ${error.message}`;
    status.className = "error";
  }
}

element("sign-in").onclick = () => signIn();
element("sign-up").onclick = () => signIn({ screen_hint: "signup" });
element("switch").onclick = () => signIn({ prompt: "select_account" });
element("sign-out").onclick = () => {
  const { id_token } = tokens;
  keep(null);
  location.assign(`${issuer}/oidc/logout?` + new URLSearchParams({
    id_token_hint: id_token,
    post_logout_redirect_uri: page,
  }));
};
element("account").href = `${issuer}/account?` + new URLSearchParams({
  client_id: client,
  return_to: page,
});
element("settings").onchange = () => apply(typed().theme);
element("settings").onsubmit = (event) => {
  event.preventDefault();
  work(save);
};

await work(async () => {
  const answer = await finish();
  if (answer) keep(answer);
  return tokens ? showUser() : "You're signed out.";
});
element("guest").hidden = tokens !== null;
