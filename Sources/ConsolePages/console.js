// Comfort only: every page works without it.

// The link of a new administrator has its token after #, where no server and no log sees it.
const link = document.querySelector(".plain-page #link");
if (link && location.hash.length > 1) {
  link.value = location.hash.slice(1);
  document.getElementById("link-hint").textContent = "Your link is filled in. Choose Continue.";
  history.replaceState(null, "", location.pathname);
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest" });

// Times in the zone of the browser, with UTC below the pointer. Days in filters have its offset.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
if (!/^(Etc\/)?(UTC|GMT)$/.test(timeZone)) {
  const shown = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (time.dateTime.length < 11 || isNaN(at)) continue;
    time.title = `${time.textContent} UTC`;
    time.textContent = shown.format(at);
  }
  for (const note of document.querySelectorAll(".zone")) {
    note.textContent = `Times are in ${timeZone}; hover for UTC.`;
  }
  for (const offset of document.querySelectorAll("form.filter [name=offset]")) {
    offset.form.addEventListener("submit", () => {
      const days = [...offset.form.querySelectorAll("[type=date]")].map((day) => day.value).filter(Boolean);
      offset.value = days.length ? -new Date(`${days[0]}T12:00`).getTimezoneOffset() : "";
    });
  }
}

// A button that copies the code beside it.
for (const code of document.querySelectorAll("pre.code:not(.difference), .key code, .definitions dd > code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "secondary copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  code.after(button);
}

// A picker beside the text of a color.
for (const text of document.querySelectorAll("input[data-color]")) {
  const picker = document.createElement("input");
  const row = document.createElement("div");
  picker.type = "color";
  picker.setAttribute("aria-label", `Pick: ${text.labels[0]?.textContent ?? "color"}`);
  picker.value = "#1f57c3";
  const take = () => { if (/^#[0-9a-f]{6}$/i.test(text.value)) picker.value = text.value; };
  take();
  text.addEventListener("input", take);
  picker.addEventListener("input", () => { text.value = picker.value; });
  row.className = "color";
  text.replaceWith(row);
  row.append(text, picker);
}

// Two clicks send one form.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  if (form.method === "post") form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

addEventListener("keydown", (event) => {
  const editor = event.target.closest?.("textarea.json");
  if (editor && event.key === "s" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    editor.form.requestSubmit(editor.form.querySelector("[data-save]") ?? undefined);
  }
  const types = event.target.matches?.("input, textarea, select");
  // Single keys can be turned off at Your account.
  if (types || event.ctrlKey || event.metaKey || event.altKey || !("keys" in document.body.dataset)) return;
  const search = document.getElementById("q");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  }
  if (event.key === "?") listKeys();
});

const keys = [["/", "Go to the search"], ["Ctrl+S", "Save the editor"], ["?", "List these keys"]];

function listKeys() {
  const dialog = document.getElementById("keys-list") ?? document.createElement("dialog");
  if (!dialog.isConnected) {
    dialog.id = "keys-list";
    dialog.setAttribute("aria-label", "Keys");
    const list = document.createElement("dl");
    list.className = "definitions";
    for (const [key, meaning] of keys) {
      const [row, term, detail] = ["div", "dt", "dd"].map((name) => document.createElement(name));
      term.textContent = key;
      detail.textContent = meaning;
      row.append(term, detail);
      list.append(row);
    }
    const form = document.createElement("form");
    form.method = "dialog";
    const button = document.createElement("button");
    button.className = "secondary";
    button.textContent = "Close";
    form.append(button);
    dialog.append(list, form);
    document.body.append(dialog);
  }
  if (!dialog.open) dialog.showModal();
}
