// Comfort only: every page works without it.

// The link of a new administrator has its token after #, where no server and no log sees it.
const link = document.querySelector(".plain-page #link");
if (link && location.hash.length > 1) {
  link.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

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
  if (event.key === "/" && !types && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const search = document.getElementById("q");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});
