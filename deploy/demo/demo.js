// Signs a user in with OpenID Connect (code and PKCE), and edits the metadata of the user.
// A library does the same in fewer lines; this page shows each request.

const { clientID } = await (await fetch("client.json")).json();
const issuer = location.origin;
const page = location.origin + location.pathname;
const element = (id) => document.getElementById(id);

/** Returns bytes in base64url. */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Sends the browser to Dossier's pages. */
async function signIn(parameters = {}) {
  const pending = { state: random(), nonce: random(), verifier: random() };
  sessionStorage.setItem("pending", JSON.stringify(pending));
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  location.assign(`${issuer}/authorize?` + new URLSearchParams({
    response_type: "code",
    client_id: clientID,
    redirect_uri: page,
    scope: "openid profile email read:current_user update:current_user_metadata",
    audience: issuer, // The tokens are also for /v1, where the metadata is.
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
  const pending = JSON.parse(sessionStorage.getItem("pending"));
  if (!answer.has("state") || !pending) return null;
  history.replaceState(null, "", page);
  sessionStorage.removeItem("pending");
  if (answer.get("state") !== pending.state || answer.get("iss") !== `${issuer}/`)
    throw new Error("This response belongs to another sign-in.");
  if (answer.has("error")) {
    if (answer.get("error") === "login_required") return null;
    throw new Error(answer.get("error_description"));
  }
  const response = await fetch(`${issuer}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientID,
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

async function show(tokens) {
  const call = async (method, body) => {
    const response = await fetch(`${issuer}/v1/me/metadata`, {
      method,
      headers: { Authorization: `Bearer ${tokens.access_token}`, "Content-Type": "application/json" },
      body,
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${answer.title} ${answer.detail ?? ""}`);
    return JSON.stringify(answer, null, 2);
  };
  const user = claims(tokens.id_token);
  element("picture").src = user.picture;
  element("name").textContent = user.name;
  element("email").textContent = user.email;
  element("text").value = await call("GET");
  element("metadata").onsubmit = (event) => {
    event.preventDefault();
    attempt(async () => {
      element("text").value = await call("PUT", element("text").value);
      return "Saved.";
    });
  };
  element("switch").onclick = () => signIn({ prompt: "select_account" });
  element("sign-out").onclick = () =>
    location.assign(`${issuer}/oidc/logout?` + new URLSearchParams({
      id_token_hint: tokens.id_token,
      post_logout_redirect_uri: page,
    }));
  element("user").hidden = false;
  return "You are signed in.";
}

/** Shows the result of some work, or its error. */
async function attempt(work) {
  try {
    element("status").textContent = await work();
  } catch (error) {
    element("status").textContent = `Error: ${error.message}`;
  }
}

element("sign-in").onclick = () => signIn();
element("sign-up").onclick = () => signIn({ screen_hint: "signup" });
await attempt(async () => {
  const tokens = await finish();
  if (tokens) return show(tokens);
  element("guest").hidden = false;
  return "You're signed out.";
});
