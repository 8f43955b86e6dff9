// The script of all pages, which work without it.

const add = (parent, tag, attributes, text = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  parent.append(element);
  return element;
};

// Shows which button works, and ignores the second click for some seconds, since the token of a
// mailed link works once.
for (const form of document.forms) {
  let sender = null;
  const end = () => {
    sender?.removeAttribute("aria-busy");
    sender = null;
  };
  form.addEventListener("submit", (event) => {
    if (sender) return event.preventDefault();
    sender = event.submitter ?? form;
    sender.setAttribute("aria-busy", "true");
    setTimeout(end, 5000);
  });
  addEventListener("pageshow", end);
}

// A button that shows a password. The password is hidden before the form is sent, so that browsers
// do not store it as ordinary text.
const EYE = `<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
  <path d="M2.5 10S5.25 4.75 10 4.75 17.5 10 17.5 10 14.75 15.25 10 15.25 2.5 10 2.5 10z"/>
  <circle cx="10" cy="10" r="2.25"/><path d="M4 16 16 4"/></svg>`;
for (const input of document.querySelectorAll("input[data-show]")) {
  const { show, hide, shown, hidden } = input.dataset;
  const control = input.closest(".control");
  const button = add(control, "button",
    { type: "button", class: "reveal", "aria-controls": input.id });
  const status = add(control, "span", { class: "hidden", role: "status" });
  const reveal = (isShown, isAnnounced) => {
    input.type = isShown ? "text" : "password";
    button.title = isShown ? hide : show;
    button.setAttribute("aria-label", button.title);
    button.toggleAttribute("data-shown", isShown);
    if (isAnnounced) status.textContent = isShown ? shown : hidden;
  };
  button.innerHTML = EYE;
  button.addEventListener("click", () => reveal(input.type === "password", true));
  input.form.addEventListener("submit", () => reveal(false, false));
  addEventListener("pageshow", () => reveal(false, false));
  reveal(false, false);
}

// Buttons that copy the codes of an element, and that print the page. Only pages of HTTPS and of this
// machine may copy. Codes have a row for them below.
for (const box of document.querySelectorAll("[data-copy]")) {
  const { copy, copied, print } = box.dataset;
  const tools = box.matches(".codes") ? box.nextElementSibling : box;
  if (navigator.clipboard) {
    const button = add(tools, "button", { type: "button", class: "secondary" }, copy);
    const status = add(tools, "span", { class: "hidden", role: "status" });
    button.addEventListener("click", async () => {
      const codes = [...box.querySelectorAll("code")].map((code) => code.textContent);
      // The blanks in a key are only for people.
      await navigator.clipboard.writeText(
        print ? codes.join("\n") : codes.join("").replaceAll(" ", ""));
      button.textContent = status.textContent = copied;
      setTimeout(() => {
        button.textContent = copy;
        status.textContent = "";
      }, 3000);
    });
  }
  if (print) {
    add(tools, "button", { type: "button", class: "secondary" }, print)
      .addEventListener("click", () => window.print());
  }
}

// A button that waits, since the email of the last click may still arrive.
for (const button of document.querySelectorAll("button[data-wait]")) {
  const label = button.textContent;
  const end = Date.now() + Number(button.dataset.wait) * 1000;
  const tick = () => {
    const seconds = Math.ceil((end - Date.now()) / 1000);
    const isOver = seconds <= 0;
    button.textContent = isOver ? label : `${label} (${seconds})`;
    button.setAttribute("aria-disabled", !isOver);
    if (isOver) clearInterval(timer);
  };
  const timer = setInterval(tick, 1000);
  button.addEventListener("click", (event) => {
    if (Date.now() < end) event.preventDefault();
  });
  tick();
}

// The time zone of the browser, until the user has one.
for (const select of document.querySelectorAll("select[data-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isListed = [...select.options].some((option) => option.value === zone);
  if (!select.value && isListed) select.value = zone;
}

// A button that asks the browser for a passkey, and sends what it returns. Browsers have one request
// at a time: that of the button ends the one that fills the field of the address.
let asking = null;
for (const form of document.querySelectorAll("form[data-passkey]")) {
  const { passkey: kind, renewal, unknown, exists } = form.dataset;
  let options = JSON.parse(form.dataset.options);
  const id = options.rpId ?? options.rp.id;
  const isOfPage = location.hostname === id || location.hostname.endsWith(`.${id}`);
  if (!isOfPage || !window.PublicKeyCredential?.parseRequestOptionsFromJSON) continue;
  form.parentElement.hidden = false;
  // Whether this device can keep a passkey, for the offer after another sign-in.
  const fields = document.querySelectorAll("input[name=platform]");
  const looked = PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable()
    .then((isAble) => { for (const field of fields) field.value = isAble ? "1" : ""; })
    .catch(() => {});

  const renew = async () => {
    const email = (form.elements.email ?? document.getElementById("email"))?.value;
    const response = await fetch(renewal, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(kind === "create" && email ? { email } : {}),
    });
    if (!response.ok) throw new Error(response.status);
    const begun = await response.json();
    form.elements.passkey_flow.value = begun.flow;
    // The passkey of this browser stays the one to show.
    options = { ...begun.public_key, allowCredentials: options.allowCredentials };
  };
  const ask = async (mediation) => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const publicKey = kind === "get"
      ? PublicKeyCredential.parseRequestOptionsFromJSON(options)
      : PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const credential = await navigator.credentials[kind]({ publicKey, mediation, signal });
    form.elements.credential.value = JSON.stringify(credential);
    await looked;
    form.submit();
  };
  const fill = async () => {
    if (!("fillsAddress" in form.dataset)) return;
    if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    ask("conditional").catch(() => {});
  };

  form.querySelector("button").addEventListener("click", async (event) => {
    event.preventDefault();
    try {
      // Only a new user has an address to state.
      if (kind === "create" && renewal) await renew();
      await ask();
    } catch (error) {
      if (error.name === "InvalidStateError" && !form.querySelector(".notice")) {
        add(form, "p", { class: "notice warning", role: "alert" }, exists);
      } else if (error.message === "422") {
        document.getElementById("email")?.focus();
      }
      // The user has cancelled: the field of the address offers passkeys again.
      fill();
    }
  });
  // The options expire after ten minutes.
  if (renewal && kind === "get") {
    setInterval(() => renew().then(fill).catch(() => {}), 540_000);
  }
  if (unknown) {
    PublicKeyCredential.signalUnknownCredential?.({ rpId: id, credentialId: unknown })
      ?.catch(() => {});
  }
  addEventListener("pageshow", fill);
}

const { check, next, done, signal } = document.querySelector("main").dataset;

// Managers of passkeys get those that the account has, and its name. Each method reads its members.
if (signal && window.PublicKeyCredential) {
  for (const method of ["signalAllAcceptedCredentials", "signalCurrentUserDetails"]) {
    PublicKeyCredential[method]?.(JSON.parse(signal))?.catch(() => {});
  }
}

// A page that waits for the link of an email looks whether it was opened, and continues.
if (check) {
  let looks = 0;
  let timer;
  const look = async () => {
    clearTimeout(timer);
    looks += 1;
    const response = await fetch(check, { cache: "no-store" }).catch(() => null);
    if (response?.status === 200) {
      document.querySelector("main > [role=status]").textContent = done;
      location.replace(next);
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(look, looks < 200 ? 3000 : 15000);
  };
  addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  timer = setTimeout(look, 3000);
}
