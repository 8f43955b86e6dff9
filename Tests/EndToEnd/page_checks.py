"""Rules that hold for every hosted page, checked in Chromium beside axe."""

# Returns what a page breaks, a text each.
PAGE_CHECKS = """
const broken = [];
const rule = (holds, text) => { if (!holds) broken.push(text); };
const all = (selector) => [...document.querySelectorAll(selector)];
// Not in what is folded.
const shown = (item) => item.getClientRects().length > 0 && item.checkVisibility();
const name = (item) => item.outerHTML.slice(0, 120);

for (const tag of ["h1", "main", "header", "footer"])
  rule(all(tag).length === 1, `${all(tag).length} times ${tag}`);
rule(document.documentElement.lang && document.documentElement.dir, "no language or direction");
rule(all("input:not([type=hidden])").every((field) => field.id && field.id === field.name),
  "a field whose name is not its id");
rule(all("form").every((form) => form.method === "post" && form.noValidate), "a form");
const names = all("input:not([type=hidden])").map((field) => field.name);
rule(new Set(names).size === names.length, "a repeated field");
rule(all("[placeholder], [maxlength], [disabled]").length === 0, "a placeholder, a limit, or disabled");
for (const item of all("[aria-describedby], [aria-labelledby]"))
  for (const id of `${item.getAttribute("aria-describedby") ?? ""} ${
    item.getAttribute("aria-labelledby") ?? ""}`.split(" ").filter(Boolean))
    rule(document.getElementById(id), `${id} does not exist`);
for (const link of all(".summary a"))
  rule(document.querySelector(link.getAttribute("href"))?.matches("[aria-invalid=true]"),
    `an error leads to no field: ${name(link)}`);

const kinds = { email: /^username( webauthn)?$|^email$/, password: /^current-password$/,
  new_password: /^new-password$/, code: /^one-time-code$/, recovery_code: /^off$/ };
for (const [id, expected] of Object.entries(kinds)) {
  const field = document.getElementById(id);
  if (field) rule(expected.test(field.autocomplete), `autocomplete of ${id}: ${field.autocomplete}`);
}

const targets = all("button, select, summary, input:not([type=hidden]), .links a, .rows a, .action a, .connections a")
  .filter(shown).filter((item) => item.type !== "checkbox" && item.type !== "radio");
for (const target of targets) {
  const { width, height } = target.getBoundingClientRect();
  rule(width >= 44 && height >= 43.9, `a target of ${width} by ${height}: ${name(target)}`);
}
for (const item of all("a[href], button, summary, input:not([type=hidden]), select").filter(shown)) {
  item.focus({ focusVisible: true });
  const { outlineStyle, outlineWidth } = getComputedStyle(item);
  rule(outlineStyle === "solid" && outlineWidth === "3px", `no outline: ${name(item)}`);
}
for (const button of all("button, a.primary, .connections a").filter(shown))
  rule(parseFloat(getComputedStyle(button).borderTopWidth) >= 1, `no edge: ${name(button)}`);
if (matchMedia("(prefers-reduced-motion: reduce)").matches)
  rule(all("*").every((item) => getComputedStyle(item).transitionDuration === "0s"), "a transition");

// The order of keys is that of the layout.
const order = all("main a[href], main button, main summary, main input:not([type=hidden]), main select").filter(shown)
  .map((item) => item.getBoundingClientRect());
rule(order.every((box, index) => index === 0 || box.bottom > order[index - 1].top
  || box.left > order[index - 1].left), "the order of the controls");
return broken;
"""

# Returns the controls whose text is cut.
CLIPPED = """
return [...document.querySelectorAll("button, a, label:not(.hidden), h1, p:not(.hidden), dt, dd")]
  .filter((item) => item.getClientRects().length > 0 && getComputedStyle(item).display !== "inline")
  .filter((item) => item.scrollWidth > item.clientWidth || item.scrollHeight > item.clientHeight + 2)
  .map((item) => item.outerHTML.slice(0, 120));
"""

# Returns the buttons and fields without an edge, for when the browser drops the colors of the page.
COLORLESS = """
return [...document.querySelectorAll("button, .links a[class], .connections a, input:not([type=hidden], [type=checkbox]), select")]
  .filter((item) => item.getClientRects().length > 0)
  .filter((item) => { const { borderTopStyle, borderTopWidth, borderTopColor } = getComputedStyle(item);
    return borderTopStyle !== "solid" || parseFloat(borderTopWidth) < 1
      || /^rgba.* 0\\)$/.test(borderTopColor); })
  .map((item) => item.outerHTML.slice(0, 120));
"""

# Makes each text of a page longer, as other languages do; returns the controls whose text is cut.
LONG_WORDS = """
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const length = texts.currentNode.data.trim().length;
  // An initial is one letter in each language.
  const isText = !texts.currentNode.parentElement.closest("[aria-hidden]");
  if (length > 0 && isText) texts.currentNode.data += " " + "wö".repeat(Math.ceil(length / 5));
}
""" + CLIPPED

# Doubles the size of the text, as a browser's setting does; returns how far the page can be scrolled
# sideways.
LARGE_TEXT = """
document.documentElement.style.fontSize = "200%";
const width = document.documentElement.scrollWidth;
document.documentElement.style.fontSize = "";
return width;
"""
