/// The script of all pages, which work without it.
///
/// It adds a button to each password field that shows the password, and hides it before the form
/// is sent. So browsers do not store the password as ordinary text. It also ignores the second click
/// on a button for some seconds, since the token of a mailed link works once.
package enum PageScript {
  package static let mediaType = "text/javascript; charset=utf-8"

  /// The version of the text, for its URL.
  package static let version = AssetVersion.of(text)

  package static let text = """
    for (const form of document.forms) {
      let sent = false;
      form.addEventListener("submit", (event) => {
        if (sent) event.preventDefault();
        sent = true;
        setTimeout(() => { sent = false; }, 5000);
      });
      addEventListener("pageshow", () => { sent = false; });
    }
    for (const input of document.querySelectorAll("input[data-show]")) {
      const button = document.createElement("button");
      const status = document.createElement("span");
      const reveal = (shown, announced) => {
        input.type = shown ? "text" : "password";
        button.textContent = shown ? input.dataset.hide : input.dataset.show;
        if (announced) status.textContent = shown ? input.dataset.shown : input.dataset.hidden;
      };
      button.type = "button";
      button.className = "reveal";
      button.setAttribute("aria-controls", input.id);
      status.className = "hidden";
      status.setAttribute("role", "status");
      button.addEventListener("click", () => reveal(input.type === "password", true));
      input.form.addEventListener("submit", () => reveal(false, false));
      addEventListener("pageshow", () => reveal(false, false));
      reveal(false, false);
      input.closest(".control").append(button, status);
    }

    """
}
