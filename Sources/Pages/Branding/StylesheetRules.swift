/// The rules of the stylesheet, which are the same for all apps.
enum StylesheetRules {
  /// The rules of every page of this server, in any layout.
  static let base = """
    * { box-sizing: border-box }
    html { font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
      -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
    body { margin: 0; background: var(--bg); color: var(--text); overflow-wrap: anywhere }
    .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap }
    h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 2rem; font-weight: 650;
      letter-spacing: -.015em; text-wrap: balance; hyphens: auto }
    h2 { margin: 2rem 0 .5rem; font-size: 1rem; line-height: 1.5rem; font-weight: 650 }
    h3 { margin: 1rem 0 .25rem; font-size: .875rem; line-height: 1.25rem; font-weight: 600;
      color: var(--muted) }
    p { margin: 0 0 1rem; max-width: 60ch; text-wrap: pretty }
    a { color: var(--link); text-underline-offset: .15em }
    a:hover { text-decoration-thickness: 2px }
    code { font: 1em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
    :focus-visible { outline: 3px solid var(--focus); outline-offset: 2px }
    input, select { width: 100%; min-height: 2.75rem; padding: .5625rem .75rem; font: inherit;
      color: inherit; background: var(--surface); border: 1px solid var(--control);
      border-radius: var(--radius); transition: border-color .12s }
    input:hover, select:hover { border-color: var(--text) }
    input:focus, select:focus { outline: 3px solid var(--focus); outline-offset: 2px }
    @media (prefers-reduced-motion: reduce) {
      * { transition: none !important }
    }

    """

  /// The rules of the hosted pages.
  static let hosted = frame + text + fields + buttons + lists + media

  private static let frame = """
    body { min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column }
    header, main, footer { width: 100%; max-width: 25rem; margin-inline: auto }
    .account header, .account main, .account footer { max-width: 45rem }
    header { padding: clamp(2rem, 9vh, 5.5rem) 0 1.5rem; text-align: center }
    .account header { padding-block: 2rem 1.5rem; text-align: start }
    main { padding: 2rem; background: var(--surface); border: 1px solid var(--line);
      border-radius: .75rem; box-shadow: 0 1px 2px #0000000a, 0 8px 24px #0000000d }
    footer { margin-block-start: auto; padding: 1.5rem 0 2rem; text-align: center;
      color: var(--muted); font-size: .875rem; line-height: 1.25rem }
    footer nav, footer p { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 .75rem;
      margin: 0 }
    footer p, .notice { max-width: none }
    footer a { color: var(--muted); text-decoration: none; padding: .75rem 0; min-width: 2.75rem }
    footer a:hover, footer a[aria-current] { text-decoration: underline }
    .logo { display: block; height: 2.5rem; max-width: min(10rem, 100%); object-fit: contain;
      margin-inline: auto }
    .account .logo { margin-inline: 0 }
    .app { margin: 0; font-size: 1.25rem; line-height: 2.5rem; font-weight: 650;
      letter-spacing: -.01em }
    .print { display: none !important }

    """

  private static let text = """
    .introduction { color: var(--muted) }
    .introduction + .introduction { margin-top: -.5rem }
    .introduction bdi { color: var(--text) }
    h1:last-child, main > :last-child { margin-bottom: 0 }
    bdi { overflow-wrap: anywhere }
    .back { margin: -.75rem 0 .25rem; font-size: .875rem }
    .back a { display: inline-block; padding: .75rem 0; text-decoration: none }
    .back a::before { content: "\\2190"; content: "\\2190" / ""; margin-inline-end: .5rem }
    [dir=rtl] .back a::before { content: "\\2192"; content: "\\2192" / "" }
    .back a:hover { text-decoration: underline }
    .notice { margin: 0 0 1.5rem; padding: .75rem 1rem; border-radius: min(var(--radius), .75rem);
      background: var(--hover); font-size: .875rem; line-height: 1.25rem }
    .introduction + .notice { margin-top: 1rem }
    h1 + .notice { margin-top: 1rem }
    .notice.success { background: var(--success-bg) }
    .notice.warning, .summary { background: var(--danger-bg); border: 1px solid var(--danger) }
    .summary { margin: 0 0 1.5rem; padding: .75rem 1rem; border-radius: min(var(--radius), .75rem);
      font-size: .875rem; line-height: 1.25rem }
    .summary h2 { margin: 0; font-size: inherit; line-height: inherit }
    .summary ul { margin: -.25rem 0 -.5rem; padding: 0; list-style: none }
    .summary li { padding: .5rem 0 }
    .summary li:has(a) { padding: 0 }
    .summary a { color: var(--text); display: block; padding: .75rem 0 }
    .summary li:has(a) + li:has(a) { margin-top: -.5rem }
    .summary:focus { outline: 3px solid var(--focus); outline-offset: 2px }

    """

  /// Addresses, codes and passwords run from left to right, also in Arabic.
  private static let fields = """
    form { margin: 1.5rem 0 0 }
    form + form, .links + form, form + .links { margin-top: .75rem }
    .field { margin: 0 0 1.25rem }
    label { display: block; margin: 0 0 .25rem; font-weight: 600; font-size: .9375rem }
    .hint, .error { margin: 0 0 .5rem; font-size: .875rem; line-height: 1.25rem }
    .hint { color: var(--muted) }
    .error { color: var(--danger); font-weight: 600 }
    .control { position: relative; display: flex; align-items: stretch }
    .invalid input, .invalid select { border: 2px solid var(--danger) }
    input[readonly] { background: var(--hover); border-color: transparent;
      text-overflow: ellipsis }
    input[readonly]:hover { border-color: transparent }
    #code, #recovery_code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
      letter-spacing: .12em }
    input:is([type=email], [type=password]), #code, #recovery_code { direction: ltr }
    [dir=rtl] :is(input[type=email], input[type=password], #code, #recovery_code) {
      text-align: right }
    input[type=file] { padding: .4375rem }
    .reveal, .inside { display: flex; align-items: center; flex: none; width: auto;
      min-width: 2.75rem; min-height: 2.75rem; margin: 0; padding: 0 .75rem; border: 0;
      background: none; color: var(--link); font: inherit; font-size: .875rem;
      text-decoration: underline; cursor: pointer }
    .control:has(.reveal, .inside) input { min-width: 0; padding-inline-end: .25rem;
      border-start-end-radius: 0; border-end-end-radius: 0; border-inline-end: 0 }
    .control .reveal, .control .inside { border: 1px solid var(--control);
      border-inline-start: 0; border-radius: 0; border-start-end-radius: var(--radius);
      border-end-end-radius: var(--radius) }
    .control .inside { background: var(--hover); border-color: transparent }
    .invalid .control .reveal { border: 2px solid var(--danger); border-inline-start: 0 }
    .control input:hover ~ .reveal { border-color: var(--text) }
    .reveal:focus-visible, .inside:focus-visible { outline-offset: -3px; z-index: 1 }
    .control input:focus { z-index: 1; border-radius: var(--radius) }
    .under { margin: .25rem 0 0; font-size: .875rem }
    .under a { display: inline-block; padding: .75rem 0 }
    .under + *, .field:has(.under) { margin-bottom: .5rem }
    .checkbox { display: flex; align-items: flex-start; gap: .75rem }
    .field + .checkbox { margin: -.75rem 0 .75rem }
    .checkbox input { flex: none; width: 1.25rem; min-height: 0; height: 1.25rem; margin: .75rem 0;
      accent-color: var(--link) }
    .checkbox label { margin: 0; padding: .625rem 0; font-weight: 400; font-size: 1rem; flex: 1 }

    """

  private static let buttons = """
    button, :where(.links a[class]) { display: block; width: 100%; min-height: 2.75rem;
      padding: .5625rem 1rem; text-align: center; font: inherit; font-weight: 600;
      border: 1px solid transparent; border-radius: var(--radius); cursor: pointer;
      transition: background-color .12s, border-color .12s }
    .primary { background: var(--accent); color: var(--on-accent);
      border-color: var(--accent-border) }
    .primary:hover { background: var(--accent-hover) }
    .secondary { background: var(--surface); color: var(--text); border-color: var(--control) }
    .secondary:hover { background: var(--hover); border-color: var(--text) }
    .danger { background: var(--danger); color: var(--on-danger); border-color: var(--danger) }
    .danger:hover { background: var(--danger-hover) }
    .plain { background: none; color: var(--link); font-weight: 400 }
    .plain:hover { text-decoration: underline }
    .buttons { display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem }
    .equal { grid-template-columns: repeat(2, minmax(0, 1fr)) }
    .account main > form .buttons { grid-template-columns: minmax(0, max-content) }
    .account main > form { max-width: 25rem }
    .links { margin: 1rem 0 0; padding: 0; list-style: none }
    .links a:not([class]) { display: inline-block; padding: .625rem 0 }
    .links a[class] { text-decoration: none }
    .links li + li { margin-top: -.25rem }
    .links li:has([class]) + li { margin-top: .5rem }
    .account .links + form { margin-top: 1rem }
    main > .links:last-child:not(:has(li:last-child [class])) { margin-bottom: -.625rem }
    form + p, form + h2 { margin-top: 1.5rem }

    """

  private static let lists = """
    .list { margin: 0 0 1rem; padding-inline-start: 1.25rem }
    .list li { padding: .125rem 0 }
    .rows { margin: 0 0 1.5rem }
    .row { display: grid; grid-template-columns: minmax(0, 12rem) minmax(0, 1fr) auto;
      gap: 0 1rem; align-items: baseline; align-content: center; padding: .5rem 0;
      border-top: 1px solid var(--line); min-height: 3.75rem }
    .row:has(.person) { align-items: center }
    .rows .row:last-child { border-bottom: 1px solid var(--line) }
    .row dt { font-weight: 600; font-size: .9375rem; overflow-wrap: anywhere }
    .row dd { margin: 0 }
    .values { display: grid; justify-items: start; gap: .125rem; color: var(--muted);
      overflow-wrap: anywhere }
    .badge { padding: 0 .5rem; border-radius: 1rem; background: var(--success-bg);
      color: var(--success); font-size: .8125rem; line-height: 1.5rem; font-weight: 600 }
    .badge.warning { background: var(--danger-bg); color: var(--danger) }
    .action { justify-self: end }
    .action a { display: block; line-height: 1.5rem; padding: .625rem 0; min-width: 2.75rem;
      text-align: end; font-weight: 600; font-size: .9375rem; text-decoration: none }
    .action a:hover { text-decoration: underline }
    .action button { font-size: .9375rem; overflow-wrap: normal }
    .row form { margin: 0 }
    .avatar { display: inline-grid; place-items: center; flex: none; width: 2.5rem; height: 2.5rem;
      border-radius: 50%; object-fit: cover; background: var(--hover); color: var(--text);
      font-weight: 600; border: 1px solid var(--line) }
    .person { display: flex; align-items: center; gap: .75rem; min-width: 0 }
    div.person { margin: 1rem 0 }
    .lines { display: grid; min-width: 0; text-align: start }
    .lines bdi:not(:first-child) { color: var(--muted); font-size: .875rem; line-height: 1.25rem;
      font-weight: 400 }
    .accounts { margin: 1.5rem 0 0; padding: 0; list-style: none }
    .accounts li { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center;
      border-top: 1px solid var(--line) }
    .accounts li:last-child { border-bottom: 1px solid var(--line) }
    .accounts form { margin: 0; min-width: 0 }
    button.account { padding: .75rem .5rem;
      background: none; color: inherit; border-radius: 0 }
    button.account:hover { background: var(--hover) }
    .state { color: var(--muted); font-size: .875rem; line-height: 1.25rem; font-weight: 400 }
    .accounts .plain { padding-inline: .5rem; font-size: .875rem }
    .codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr));
      gap: .25rem 1rem; margin: 1.5rem 0 0; padding: 1rem; list-style: none;
      background: var(--hover); border-radius: min(var(--radius), .75rem) }
    .codes code { letter-spacing: .04em }
    code { direction: ltr; unicode-bidi: isolate }
    .key { margin: 1rem 0 0; padding: .75rem 1rem; background: var(--hover);
      border-radius: min(var(--radius), .75rem) }
    .key-label { display: block; font-size: .875rem; color: var(--muted) }
    .qr { display: block; width: 100%; max-width: 13rem; margin: 1.5rem auto 0; background: #fff;
      border-radius: min(var(--radius), .75rem); border: 1px solid var(--line);
      forced-color-adjust: none }
    .client { display: block; max-width: min(10rem, 100%); height: 3rem; object-fit: contain;
      object-position: left; margin: 1rem 0 0 }
    [dir=rtl] .client { object-position: right }

    """

  private static let media = """
    @media (max-width: 30rem) {
      body { background: var(--surface) }
      header { padding: 1.5rem 1rem 1rem; text-align: start }
      .account header { padding-block: 1.5rem 1rem }
      .logo { margin-inline: 0 }
      main { padding: 1rem; border: 0; border-radius: 0; box-shadow: none }
      footer { padding-inline: 1rem }
    }
    @media (max-width: 36rem) {
      .row { grid-template-columns: minmax(0, 1fr) auto }
      .values { grid-area: 2 / 1 }
      .action { grid-area: 1 / 2 / span 2 }
    }
    @media (max-width: 22rem) {
      .equal { grid-template-columns: minmax(0, 1fr) }
    }
    @media (max-width: 16rem) {
      .row, .accounts li { grid-template-columns: minmax(0, 1fr) }
      .values, .action { grid-area: auto; justify-self: start }
    }
    @media (forced-colors: active) {
      .notice, .summary, .codes, .key, .avatar, .badge { border: 1px solid CanvasText }
      button, .links a[class] { border-color: ButtonBorder }
      input[readonly], .control .inside { border-color: GrayText }
    }
    @media print {
      :root { color-scheme: light; --bg: #fff; --hover: #fff; --text: #000 }
      main { border: 0; box-shadow: none; padding: 0 }
      button, form, .links, .back, footer nav, footer p:not(.print) { display: none !important }
      .print { display: block !important }
      .codes { border: 1px solid; grid-template-columns: 1fr 1fr }
    }

    """
}
