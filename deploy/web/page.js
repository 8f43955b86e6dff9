// A page that tries Dossier: ?server= says where it answers, ?device=cookie how the browser is known.

const query = new URLSearchParams(location.search);
const server = query.get("server") ?? "http://127.0.0.1:8080";
const device = query.get("device") === "cookie" ? "cookie" : "secret";
/** @type {typeof import("./dossier.js")} */
const { Dossier, DossierError } = await import(`${server}/dossier.js`).catch((error) => {
  say(`No Dossier answers at ${server}: ?server= in the address of this page says where one does.`, true);
  throw error;
});
const dossier = new Dossier(server, { device, app: query.get("app") ?? undefined });

/** The version that the value of the property's form was read in; 0 for none. */
let version = 0;

/** @param {string} id @returns {any} */
function find(id) { return document.getElementById(id); }

/** @param {string} text @param {boolean} [isRefused] */
function say(text, isRefused = false) {
  find("said").textContent = text;
  find("said").className = isRefused ? "refused" : "";
}

/**
 * Does what was asked for, shows what is so then, and says how it went.
 * @param {() => Promise<any>} work
 */
async function perform(work) {
  find("said").ariaBusy = "true";
  try {
    const said = await work();
    await show();
    say(said ?? "Done.");
  } catch (error) {
    if (!(error instanceof DossierError)) return say(String(error), true);
    const places = error.errors.map(({ pointer, detail }) => ` ${pointer}: ${detail}`).join("");
    await show().catch(() => {});
    say(`${error.code}: ${error.message}${places}`, true);
  } finally {
    find("said").ariaBusy = "false";
  }
}

async function show() {
  const users = await dossier.users();
  find("users").replaceChildren(...users.map(place));
  const isSomebody = dossier.user !== null;
  for (const part of document.querySelectorAll(".mine")) part.toggleAttribute("hidden", !isSomebody);
  if (!isSomebody) return;
  const profile = await dossier.profile();
  find("me").textContent =
    `${profile.id} ${profile.email ?? ""}${profile.anonymous ? "(anonymous)" : ""}`;
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
  if (user.state !== "logged_out") offer("Log out", (id) => dossier.logout(id));
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

find("anonymous").onclick = () => perform(async () => `Logged in as ${await dossier.loginAnonymously()}.`);

onSubmit("credentials", async ({ email, password }, way) => {
  const credentials = { email: email.value, password: password.value };
  if (way === "link") {
    await dossier.link({ provider: "password", ...credentials });
    return "Linked: the user and its data are the same.";
  }
  const user = await dossier[way === "login" ? "login" : "register"](email.value, password.value);
  return user ? `Logged in as ${user}.` : "Confirm the address first: look at your mail.";
});

onSubmit("token", async ({ secret }, way) => {
  const user = await dossier[way === "loginWithKey" ? "loginWithKey" : "loginWithToken"](secret.value);
  return `Logged in as ${user}.`;
});

onSubmit("profile", async ({ name }) => {
  await dossier.changeProfile({ name: name.value || null });
});
find("profile").file.onchange = (/** @type {any} */ { target }) => perform(async () => {
  await dossier.setPicture(target.files[0]);
  target.value = "";
  return "This is the picture as everybody sees it.";
});

onSubmit("document", async ({ which, patch }, way) => {
  /** @type {import("./dossier.js").Dossier["metadata"]} */
  const document = dossier[/** @type {"metadata" | "customData"} */ (which.value)];
  const { body, version } =
    way === "read" ? await document.read() : await document.patch(JSON.parse(patch.value));
  find("stored").textContent = `${JSON.stringify(body)} in version ${version}`;
});

/** @param {import("./dossier.js").Property} property */
function showProperty(property) {
  version = property.version;
  find("property").value.value = property.value;
  find("version").textContent = `version ${version}`;
  find("conflict").hidden = true;
}

onSubmit("property", async ({ key, value }, way) => {
  if (way === "read") return showProperty(await dossier.properties.get(key.value));
  try {
    showProperty(await dossier.properties.set(key.value, value.value, { version }));
  } catch (error) {
    if (!(error instanceof DossierError && error.code === "property_moved")) throw error;
    const { value: theirs, current_version: current } = error.problem;
    find("conflict").hidden = false;
    find("conflict").firstElementChild.textContent =
      `Somebody has stored ${JSON.stringify(theirs)} as version ${current}; you have changed version ${version}.`;
    throw error;
  }
});
find("property").key.oninput = () => { version = 0; };

for (const button of find("conflict").querySelectorAll("button")) {
  button.onclick = () => perform(async () => {
    const { key, value } = find("property");
    showProperty(
      await dossier.properties.set(key.value, value.value, { version, keep: button.value }),
    );
    return button.value === "new" ? "Yours is stored." : "Theirs is kept.";
  });
}

await perform(async () => (dossier.user ? "Welcome back." : "Nobody is logged in here."));

export {};
