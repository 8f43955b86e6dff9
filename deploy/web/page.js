// A page to try Dossier. ?server= is the server's URL, and ?device=cookie keeps tokens in a cookie.
// Set the app's email_link_base_url to this page, and the links of its mails lead here.

const query = new URLSearchParams(location.search);
const server = query.get("server") ?? "http://localhost:8080";
const device = query.get("device") === "cookie" ? "cookie" : "secret";
/** @type {typeof import("./dossier.js")} */
const { Dossier, DossierError } = await import(`${server}/dossier.js`).catch((error) => {
  say(`Dossier does not answer at ${server}. Put its URL into ?server= of this page.`, true);
  throw error;
});
const dossier = new Dossier(server, { device, app: query.get("app") ?? undefined });

/** The version of the value in the property's form; 0 if nothing is stored. */
let version = 0;

/** The value of that version. */
let base = /** @type {unknown} */ (undefined);

/** Takes the code or password that the page has asked for. */
let answer = /** @type {(value: string) => Promise<any>} */ (async () => {});

/** @param {string} id @returns {any} */
function find(id) { return document.getElementById(id); }

/** @param {string} text @param {boolean} [isRefused] */
function say(text, isRefused = false) {
  find("said").textContent = text;
  find("said").className = isRefused ? "refused" : "";
}

/**
 * Asks the user for a code or a password.
 * @param {string} question @param {"text" | "password"} type
 * @param {(value: string) => Promise<any>} work
 */
function ask(question, type, work) {
  const { value } = find("answer");
  find("asked").hidden = false;
  find("asked").firstElementChild.textContent = question;
  value.ariaLabel = value.placeholder = type === "text" ? "code" : "password";
  value.type = type;
  value.value = "";
  answer = work;
}

/**
 * Runs the work, shows the new state, and reports the result.
 * @param {() => Promise<any>} work @returns {Promise<void>}
 */
async function perform(work) {
  find("said").ariaBusy = "true";
  try {
    const said = await work();
    await show();
    say(said ?? "Done.");
  } catch (error) {
    if (!(error instanceof DossierError)) return say(String(error), true);
    const { flow, methods } = error;
    if (flow) return await perform(() => askForFactor(flow, methods));
    const places = error.errors.map(({ pointer, detail }) => ` ${pointer}: ${detail}`).join("");
    await show().catch(() => {});
    say(`${error.code}: ${error.message}${places}`, true);
  } finally {
    find("said").ariaBusy = "false";
  }
}

/** @param {string} flow @param {string[]} methods */
async function askForFactor(flow, methods) {
  let question = "Enter a code of your authenticator app";
  if (methods.includes("enroll")) {
    const { secret } = await dossier.enrollSecondFactor(flow);
    question = `Add the key ${secret} to your authenticator app, and enter a code of it`;
  }
  ask(question, "text", async (code) => {
    const { user, recoveryCodes } = await dossier.completeSecondFactor(flow, code);
    const codes = recoveryCodes.join(" ");
    return `Signed in as ${user}.${codes && ` Keep these recovery codes: ${codes}`}`;
  });
  return "One more step.";
}

/**
 * Does what the link of a mail asks for.
 * @param {string} kind @param {string} token
 */
async function follow(kind, token) {
  if (kind === "verify") {
    try {
      await dossier.verifyEmail(token);
      return "The address is verified.";
    } catch (error) {
      if (!(error instanceof DossierError && error.status === 401)) throw error;
      ask("Enter your password to verify the address", "password", async (password) => {
        await dossier.verifyEmail(token, password);
        return "The address is verified, and you are signed in.";
      });
      return "Sign in to verify the address.";
    }
  }
  ask("Choose a new password", "password", async (password) => {
    await dossier[kind === "reset" ? "resetPassword" : "restoreEmail"](token, password);
    return "The password is set, and you are signed in.";
  });
  return "Choose a new password.";
}

async function show() {
  const users = await dossier.users();
  find("users").replaceChildren(...users.map(place));
  find("leave").hidden = users.length === 0;
  const isSignedIn = dossier.user !== null;
  document.querySelectorAll(".mine").forEach((part) => part.toggleAttribute("hidden", !isSignedIn));
  if (!isSignedIn) return;
  const profile = await dossier.profile();
  const isVerified = profile.email_verified ? "(verified)" : "";
  find("me").textContent = `${profile.id} ${profile.email ?? "(guest)"} ${isVerified}`;
  find("profile").name.value = profile.name ?? "";
  find("picture").hidden = profile.picture === null;
  find("picture").src = dossier.pictureURL(profile) ?? "data:,";
}

/** @param {import("./dossier.js").DeviceUser} user */
function place(user) {
  const item = document.createElement("li");
  const name = document.createElement("span");
  name.textContent = `${user.name ?? user.email ?? user.user_id}, ${user.state.replace("_", " ")}`;
  item.dataset.user = user.user_id;
  item.append(name);
  /** @param {string} label @param {(user: string) => Promise<any>} work */
  const offer = (label, work) => {
    const button = document.createElement("button");
    button.textContent = label;
    button.onclick = () => perform(() => work(user.user_id).then(() => `${label}: done.`));
    item.append(button);
  };
  if (user.state === "inactive") offer("Switch", (id) => dossier.switchTo(id));
  if (user.state !== "logged_out") offer("Sign out", (id) => dossier.signOut(id));
  offer("Forget", (id) => dossier.forget(id));
  return item;
}

/** @param {string} id @param {(form: any, way: string) => Promise<any>} work */
function onSubmit(id, work) {
  find(id).onsubmit = (/** @type {any} */ event) => {
    event.preventDefault();
    perform(() => work(event.target, event.submitter.value));
  };
}

find("device").device.value = device;
find("device").onchange = (/** @type {any} */ event) => {
  query.set("device", event.target.value);
  location.search = query.toString();
};

find("anonymous").onclick = () => perform(async () =>
  `Signed in as ${await dossier.signInAnonymously()}.`);
find("leave").onclick = () => perform(async () => {
  await dossier.signOutAll();
  return "All users are signed out.";
});

onSubmit("answer", async ({ value }) => {
  const said = await answer(value.value);
  find("asked").hidden = true;
  return said;
});

/** @type {Record<string, (email: string, password: string) => Promise<any>>} */
const ways = {
  async register(email, password) {
    const { user, flow } = await dossier.register(email, password);
    return user ? `Signed in as ${user}.` : askForCode(flow);
  },
  async signIn(email, password) {
    return `Signed in as ${await dossier.signIn(email, password)}.`;
  },
  async link(email, password) {
    await dossier.link({ provider: "password", email, password });
    return "Linked. The user and its data are the same.";
  },
  async code(email) {
    return askForCode((await dossier.requestCode(email)).flow);
  },
  async reset(email) {
    await dossier.requestReset(email);
    return "If the address has an account, an email is on its way.";
  },
  async change(email) {
    const { flow } = await dossier.changeEmail(email);
    ask("Enter the code that we sent to the new address", "text", async (code) => {
      await dossier.verifyNewEmail(flow, code);
      return "The address is changed.";
    });
    return "We sent a code to the new address.";
  },
};

/** @param {string | null} flow */
function askForCode(flow) {
  ask("Enter the code of the email", "text", async (code) =>
    `Signed in as ${await dossier.signInWithCode(flow ?? "", code)}.`);
  return "Check your email.";
}

onSubmit("credentials", ({ email, password }, way) => ways[way](email.value, password.value));

onSubmit("token", async ({ secret }, way) => {
  const member = way === "signInWithKey" ? "signInWithKey" : "signInWithToken";
  return `Signed in as ${await dossier[member](secret.value)}.`;
});

onSubmit("profile", async ({ name }) => {
  await dossier.changeProfile({ name: name.value || null });
});
find("profile").file.onchange = (/** @type {any} */ { target }) => perform(async () => {
  await dossier.setPicture(target.files[0]);
  target.value = "";
  return "This is the picture that others see.";
});

onSubmit("document", async ({ which, patch }, way) => {
  /** @type {import("./dossier.js").Dossier["metadata"]} */
  const kept = dossier[/** @type {"metadata" | "customData"} */ (which.value)];
  const { body, version } =
    way === "read" ? await kept.read() : await kept.patch(JSON.parse(patch.value));
  // { "theme": "dark" } in the metadata is the theme of this page.
  if (which.value === "metadata") document.documentElement.dataset.theme = String(body.theme);
  find("stored").textContent = `${JSON.stringify(body)} in version ${version}`;
});

/** @param {import("./dossier.js").Property} property */
function showProperty(property) {
  ({ version, value: base } = property);
  find("property").value.value = property.value;
  find("version").textContent = `version ${version}`;
  find("conflict").hidden = true;
}

onSubmit("property", async ({ key, value }, way) => {
  if (way === "read") return showProperty(await dossier.properties.get(key.value));
  try {
    showProperty(await dossier.properties.set(key.value, value.value, { version }));
  } catch (error) {
    if (!(error instanceof DossierError && error.code === "version_conflict")) throw error;
    const { value: theirs, current_version: current } = error.problem;
    find("conflict").hidden = false;
    find("conflict").firstElementChild.textContent =
      `Version ${current} is ${JSON.stringify(theirs)}. You have changed version ${version}.`;
    find("values").replaceChildren(
      choice("Before", base), choice("Theirs", theirs), choice("Mine", value.value));
    throw error;
  }
});
find("property").key.oninput = () => { ({ version, base } = { version: 0, base: undefined }); };

/** @param {string} label @param {unknown} value */
function choice(label, value) {
  const [box, term, text] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
  term.textContent = label;
  text.textContent = JSON.stringify(value) ?? "nothing";
  box.append(term, text);
  return box;
}

for (const button of find("conflict").querySelectorAll("button")) {
  button.onclick = () => perform(async () => {
    const { key, value } = find("property");
    showProperty(
      await dossier.properties.set(key.value, value.value, { version, keep: button.value }),
    );
    return button.value === "new" ? "Yours is stored." : "Theirs is kept.";
  });
}

/** Follows the link of a mail, if one has led here. */
async function begin() {
  const [kind, token] = location.hash.slice(1).split("=");
  // The token does not stay in the address bar and the history.
  history.replaceState(null, "", location.pathname + location.search);
  const isLink = ["verify", "reset", "restore"].includes(kind);
  const greeting = dossier.user ? "Welcome back." : "No user is signed in here.";
  await perform(async () => (isLink ? follow(kind, token) : greeting));
}

addEventListener("hashchange", begin);
await begin();

export {};
