internal import JSON
import Localization

// The pages that give a browser back to a client.
extension Page {
  /// Leads to a destination after a POST.
  ///
  /// A redirect would break the `form-action` of the page before, also over two hops.
  /// - `client`: the name of the client; nil for the app itself.
  package static func handOver(to destination: Destination, client: String? = nil) -> Page {
    var page = Page(title: .handOver)
    let text = client.map { Text.message(.handOverToClient, ["client": .name($0)]) }
    page.introduction = [text ?? .message(.handOverToApp)]
    page.body = [.links([.next(.continue, to: destination)])]
    page.automation = .refresh(destination)
    return page
  }

  /// Posts the answer to a client with `response_mode=form_post`.
  ///
  /// - Source: OAuth 2.0 Form Post Response Mode section 2.
  package static func formPost(
    to destination: Destination, parameters: [HiddenField], nonce: Nonce
  ) -> Page {
    var page = Page(title: .handOver)
    page.introduction = [.message(.formPostIntroduction)]
    let button = Button(.message(.continue))
    page.body = [.form(Form(action: destination, hidden: parameters, buttons: [button]))]
    page.automation = .submit(nonce)
    return page
  }

  /// Posts the answer to the window of a client with `response_mode=web_message`.
  ///
  /// - `origin`: a registered origin of the client.
  /// - Source: draft-sakimura-oauth-wmrm section 4.
  package static func webMessage(
    to origin: Origin, response: [(name: String, value: String)], nonce: Nonce
  ) -> Page {
    var page = Page(title: .handOver)
    page.introduction = [.message(.webMessageIntroduction)]
    let members = JSONObject(response.map { ($0.name, JSON.string($0.value)) })
    let json: JSON = ["type": "authorization_response", "response": .object(members)]
    page.automation = .post(WebMessage(origin: origin, json: json.text), nonce)
    return page
  }
}
