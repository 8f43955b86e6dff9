internal import Mustache
internal import Encoding

/// The templates of pages and mails.
///
/// Each begins by selecting the content type that escapes every value. No template inserts a value
/// in any other way, in a script, or in an attribute without quotes.
enum Templates {
  static let library = MustacheLibrary(templates: templates)

  private static let templates: [String: MustacheTemplate] = {
    MustacheContentTypes.register(EscapedHTML(), named: "ESCAPED")
    var templates: [String: MustacheTemplate] = [:]
    for (name, text) in texts {
      do {
        templates[name] = try MustacheTemplate(string: "{{% CONTENT_TYPE: ESCAPED}}" + text)
      } catch {
        preconditionFailure("template \(name): \(error)")
      }
    }
    return templates
  }()

  /// The templates by name.
  static let texts: [String: String] = [
    "page": page, "text": text, "summary": summary, "element": element, "form": form,
    "field": field, "control": control, "row": row, "person": person, "account": account,
    "button": button, "mail": MailTemplates.mail,
  ]

  /// Escapes by Unicode scalars.
  ///
  /// The content type of the library compares characters, and leaves a quote unescaped if a
  /// combining mark follows it. Browsers end the attribute there.
  private struct EscapedHTML: MustacheContentType {
    func escapeText(_ text: String) -> String { HTML.escaped(text) }
  }

  private static let page = """
    <!doctype html>
    <html lang="{{language}}" dir="{{direction}}">
    <head>
    <meta charset="utf-8">
    <title>{{title}}</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    {{#refresh}}<meta http-equiv="refresh" content="0;url={{refresh}}">{{/refresh}}
    <link rel="stylesheet" href="{{stylesheet}}">
    <script src="{{script}}" defer></script>
    </head>
    <body class="{{layout}}">
    <header>
    {{#logo}}<picture>{{#dark}}<source srcset="{{dark}}" media="(prefers-color-scheme: dark)">{{/dark}}\
    <img class="logo" src="{{light}}" alt="{{app}}"></picture>{{/logo}}
    {{^logo}}<p class="app"><bdi>{{app}}</bdi></p>{{/logo}}
    </header>
    <main{{#message}} id="message" data-origin="{{origin}}" data-message="{{json}}"{{/message}}>
    {{#back}}<p class="back"><a href="{{url}}">{{#text}}{{>text}}{{/text}}</a></p>{{/back}}
    {{#summary}}{{>summary}}{{/summary}}
    <h1>{{#heading}}{{>text}}{{/heading}}</h1>
    {{#introduction}}<p class="introduction">{{>text}}</p>{{/introduction}}
    {{#notices}}<p class="notice {{kind}}">{{#text}}{{>text}}{{/text}}</p>{{/notices}}
    {{#body}}{{>element}}{{/body}}
    {{#noScript}}<noscript><p class="notice warning">{{noScript}}</p></noscript>{{/noScript}}
    </main>
    <footer>
    {{#hasLanguages}}<nav aria-label="{{languagesLabel}}">{{#languages}}\
    <a href="{{url}}" lang="{{tag}}" hreflang="{{tag}}"{{#current}} aria-current="true"{{/current}}>{{name}}</a>\
    {{/languages}}</nav>{{/hasLanguages}}
    {{#hasFooter}}<p>{{#footer}}<a href="{{url}}">{{#text}}{{>text}}{{/text}}</a>{{/footer}}</p>{{/hasFooter}}
    <p class="print">{{app}}{{#printed}} · {{printed}}{{/printed}}</p>
    </footer>
    {{#submit}}<script nonce="{{submit}}">document.forms[0].submit();</script>{{/submit}}
    {{#post}}<script nonce="{{post}}">
    const { origin, message } = document.getElementById("message").dataset;
    const client = opener ?? (parent === self ? null : parent);
    client?.postMessage(JSON.parse(message), origin);
    if (opener) setTimeout(close, 5000);
    </script>{{/post}}
    </body>
    </html>

    """

  private static let text =
    "{{#parts}}{{#bdi}}<bdi>{{bdi}}</bdi>{{/bdi}}{{#words}}{{words}}{{/words}}{{/parts}}"

  private static let summary = """
    <div class="summary" role="group" aria-labelledby="summary-title" tabindex="-1" autofocus>
    <h2 id="summary-title">{{summaryTitle}}</h2>
    <ul>
    {{#errors}}<li>{{#target}}<a href="#{{target}}">{{#text}}{{>text}}{{/text}}</a>{{/target}}\
    {{^target}}{{#text}}{{>text}}{{/text}}{{/target}}</li>
    {{/errors}}</ul>
    </div>
    """

  private static let element = """
    {{#form}}{{>form}}{{/form}}\
    {{#links}}<ul class="links">
    {{#items}}<li><a href="{{url}}"{{#style}} class="{{style}}"{{/style}}{{#download}} download="{{download}}"{{/download}}>\
    {{#text}}{{>text}}{{/text}}</a></li>
    {{/items}}</ul>{{/links}}\
    {{#paragraphs}}<p>{{>text}}</p>
    {{/paragraphs}}\
    {{#subheading}}<h2>{{>text}}</h2>{{/subheading}}\
    {{#list}}{{#listHeading}}<h3>{{>text}}</h3>{{/listHeading}}<ul class="list">
    {{#items}}<li>{{>text}}</li>
    {{/items}}</ul>{{/list}}\
    {{#rows}}<dl class="rows">
    {{#items}}{{>row}}
    {{/items}}</dl>{{/rows}}\
    {{#accounts}}<ul class="accounts">
    {{#items}}{{>account}}
    {{/items}}</ul>{{/accounts}}\
    {{#person}}<div class="person">{{>person}}</div>{{/person}}\
    {{#codes}}<ul class="codes">
    {{#items}}<li><code>{{.}}</code></li>
    {{/items}}</ul>{{/codes}}\
    {{#key}}<p class="key"><span class="key-label">{{label}}</span> <code>{{key}}</code></p>{{/key}}\
    {{#qrCode}}<svg class="qr" role="img" aria-label="{{label}}" viewBox="0 0 {{width}} {{width}}" \
    shape-rendering="crispEdges"><path d="{{path}}"/></svg>{{/qrCode}}\
    {{#picture}}<img class="client" src="{{source}}" alt="{{alternative}}">{{/picture}}
    """

  private static let form = """
    <form method="post" action="{{action}}" novalidate{{#hasFile}} enctype="multipart/form-data"{{/hasFile}}>
    {{#hidden}}<input type="hidden" name="{{name}}" value="{{value}}">
    {{/hidden}}{{#fields}}{{>field}}
    {{/fields}}<div class="buttons{{#equal}} equal{{/equal}}">{{#buttons}}{{>button}}{{/buttons}}</div>
    </form>
    """

  private static let button = """
    <button type="submit" class="{{style}}"{{#id}} id="{{id}}"{{/id}}\
    {{#labelledBy}} aria-labelledby="{{labelledBy}}"{{/labelledBy}}\
    {{#submitted}} name="{{name}}" value="{{value}}"{{/submitted}}>{{#label}}{{>text}}{{/label}}</button>
    """

  private static let field = """
    <div class="field{{#invalid}} invalid{{/invalid}}{{#checkbox}} checkbox{{/checkbox}}">
    {{^checkbox}}<label for="{{id}}">{{#label}}{{>text}}{{/label}}</label>{{/checkbox}}
    {{#hint}}<p class="hint" id="{{id}}-hint">{{>text}}</p>{{/hint}}
    {{#error}}<p class="error" id="{{id}}-error"><span class="hidden">{{errorLabel}} </span>{{>text}}</p>{{/error}}
    <div class="control">{{>control}}{{#fixed}}{{#link}}\
    <a class="inside" href="{{url}}" id="{{id}}-link" aria-labelledby="{{id}}-link {{id}}">\
    {{#text}}{{>text}}{{/text}}</a>{{/link}}{{/fixed}}</div>
    {{#checkbox}}<label for="{{id}}">{{#label}}{{>text}}{{/label}}</label>{{/checkbox}}
    {{^fixed}}{{#link}}<p class="under"><a href="{{url}}">{{#text}}{{>text}}{{/text}}</a></p>{{/link}}{{/fixed}}
    </div>
    """

  private static let control = """
    {{#choice}}<select id="{{id}}" name="{{id}}"{{#autofocus}} autofocus{{/autofocus}}\
    {{#invalid}} aria-invalid="true"{{/invalid}}\
    {{#describedBy}} aria-describedby="{{describedBy}}"{{/describedBy}}>
    {{#options}}<option value="{{value}}"{{#selected}} selected{{/selected}}>{{optionLabel}}</option>
    {{/options}}</select>{{/choice}}\
    {{^choice}}<input id="{{id}}" name="{{id}}" type="{{type}}"\
    {{#hasValue}} value="{{value}}"{{/hasValue}}{{#checked}} checked{{/checked}}\
    {{#accept}} accept="{{accept}}"{{/accept}}{{#inputMode}} inputmode="{{inputMode}}"{{/inputMode}}\
    {{#autocomplete}} autocomplete="{{autocomplete}}"{{/autocomplete}}\
    {{#isText}} spellcheck="false" autocapitalize="{{capitalization}}"{{/isText}}\
    {{#fixed}} readonly{{/fixed}}{{#autofocus}} autofocus{{/autofocus}}\
    {{#invalid}} aria-invalid="true"{{/invalid}}\
    {{#describedBy}} aria-describedby="{{describedBy}}"{{/describedBy}}\
    {{#reveal}} data-show="{{show}}" data-hide="{{hide}}" data-shown="{{shown}}" data-hidden="{{hiddenAgain}}"{{/reveal}}>\
    {{/choice}}
    """

  private static let row = """
    <div class="row">
    <dt id="{{rowID}}">{{#label}}{{>text}}{{/label}}</dt>
    <dd class="values">{{#rowPerson}}<span class="person">{{>person}}</span>{{/rowPerson}}
    {{#values}}<span class="value">{{>text}}</span>
    {{/values}}{{#badge}}<span class="badge {{badgeKind}}">{{>text}}</span>{{/badge}}</dd>
    {{#actions}}<dd class="action">\
    {{#actionLink}}<a href="{{url}}" id="{{id}}" aria-labelledby="{{id}} {{rowID}}">\
    {{#text}}{{>text}}{{/text}}</a>{{/actionLink}}\
    {{#form}}{{>form}}{{/form}}</dd>{{/actions}}
    </div>
    """

  private static let person = """
    {{#image}}<img class="avatar" src="{{image}}" alt="">{{/image}}\
    {{^image}}<span class="avatar" aria-hidden="true">{{initial}}</span>{{/image}}\
    {{#hasLines}}<span class="lines">{{#lines}}<bdi>{{.}}</bdi>{{/lines}}\
    {{#state}}<span class="state">{{state}}</span>{{/state}}</span>{{/hasLines}}
    """

  private static let account = """
    <li>
    <form method="post" action="{{action}}" novalidate>
    {{#hidden}}<input type="hidden" name="{{name}}" value="{{value}}">
    {{/hidden}}<button type="submit" class="account" id="{{rowID}}"><span class="person">{{>person}}</span></button>
    </form>
    {{#removal}}{{>form}}{{/removal}}
    </li>
    """
}
