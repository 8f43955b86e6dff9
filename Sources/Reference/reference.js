// The script of the reference, which works without it.
//
// It shows results while the user types, adds buttons that copy examples, and marks the section in
// view. It also opens the place that an address with an old fragment names.

const field = document.getElementById("q");
const suggestions = document.getElementById("suggestions");
const status = document.getElementById("status");
const contents = document.getElementById("contents");

// Wide screens show the navigation unfolded.
const wide = matchMedia("(min-width: 60rem)");
const unfold = () => { contents.open = wide.matches; };
wide.addEventListener("change", unfold);
unfold();

// The reference once had one page. The start still has the ids of routes and chapters.
const old = location.hash.slice(1);
if (document.querySelector("#routes") && old) {
  const link = document.getElementById(old)?.querySelector("li > a");
  const words = new URLSearchParams({ q: old.replace(/^operator-/, "") });
  if (link) location.replace(link.href);
  else if (!document.getElementById(old) && !globalThis.findPlaces) {
    location.replace(`/reference?${words}`);
  }
}

async function askServer() {
  const query = new URLSearchParams(new FormData(field.form));
  const response = await fetch(`/reference?${query}`);
  if (!response.ok) throw new Error(response.statusText);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return {
    results: page.getElementById("results"), count: page.getElementById("count").textContent };
}
// The site of `deploy/docs` has a search of its own.
const find = globalThis.findPlaces ?? askServer;

let waiting;
const hide = () => { suggestions.hidden = true; };
async function suggest() {
  const typed = field.value;
  if (typed.trim() === "") return hide();
  const { results, count } = await find(typed);
  if (field.value !== typed) return;
  for (const result of results ? [...results.children].slice(8) : []) result.remove();
  results?.removeAttribute("id");
  suggestions.replaceChildren(results ?? count);
  suggestions.hidden = false;
  status.textContent = count;
}
field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => suggest().catch(hide), 120);
});
field.form.addEventListener("keydown", (event) => {
  const links = [field, ...suggestions.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" && !suggestions.hidden) {
    hide();
    field.focus();
    event.preventDefault();
  } else if (step && !suggestions.hidden) {
    links[links.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  }
});
document.addEventListener("click", (event) => {
  if (!field.form.contains(event.target) || event.target.closest("a")) hide();
});
field.form.addEventListener("focusout", (event) => {
  if (event.relatedTarget && !field.form.contains(event.relatedTarget)) hide();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  field.select();
});

// Browsers offer the clipboard only over TLS, and to this machine.
for (const figure of navigator.clipboard ? document.querySelectorAll("figure") : []) {
  const title = figure.querySelector("figcaption");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy: ${title.textContent}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(figure.querySelector("pre").textContent);
    button.textContent = status.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  title.append(button);
}

const entries = new Map(
  [...contents.querySelectorAll('a[href^="#"]')].map((link) => [link.hash.slice(1), link]));
const observer = new IntersectionObserver((changes) => {
  const seen = changes.findLast((change) => change.isIntersecting);
  if (!seen) return;
  for (const link of entries.values()) link.removeAttribute("aria-current");
  const link = entries.get(seen.target.id);
  link.setAttribute("aria-current", "location");
  if (wide.matches) link.scrollIntoView({ block: "nearest" });
}, { rootMargin: "-15% 0px -80% 0px" });
for (const id of entries.keys()) observer.observe(document.getElementById(id));
