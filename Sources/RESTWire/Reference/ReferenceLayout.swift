/// The layout of the reference, in the colors and with the basic rules of the hosted pages.
///
/// Narrow screens have one column. From 60rem the navigation is on the left, and from 75rem the
/// examples are on the right.
enum ReferenceLayout {
  static let rules = frame + navigation + text + search + examples + media

  private static let frame = """
    html { scroll-padding-top: 1rem }
    body { background: var(--surface) }
    body > header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem;
      padding: .75rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line) }
    .home { display: flex; align-items: center; gap: .5rem; min-height: 2.75rem; color: var(--muted);
      text-decoration: none }
    .home b { color: var(--text); font-size: 1.125rem; font-weight: 650; letter-spacing: -.01em }
    .skip { position: absolute; inset: .5rem auto auto .5rem; z-index: 3; padding: .5rem 1rem;
      background: var(--surface); border-radius: var(--radius) }
    .skip:not(:focus) { clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
    main { padding: 1.5rem 1rem 3rem; min-width: 0 }
    main:focus { outline: none }
    .part { padding-block: 2rem; border-bottom: 1px solid var(--line) }
    .part.lead { padding-top: 0 }
    .examples:not(:empty) { margin-top: 1.5rem }
    .neighbors { display: flex; flex-wrap: wrap; gap: 1rem; margin: 2rem 0 0; padding: 0;
      list-style: none }
    .neighbors li { flex: 1 1 12rem }
    .neighbors a { display: block; padding: .75rem 1rem; border: 1px solid var(--line);
      border-radius: var(--radius); font-weight: 600; text-decoration: none }
    .neighbors a:hover, .chapters li:hover { border-color: var(--control) }
    .neighbors span { display: block; color: var(--muted); font-size: .8125rem; font-weight: 400 }

    """

  private static let navigation = """
    nav { border-bottom: 1px solid var(--line); font-size: .9375rem }
    nav summary { padding: .625rem 1rem; line-height: 1.5rem; font-weight: 600; cursor: pointer }
    nav summary:focus-visible { outline-offset: -3px }
    nav ul { margin: 0; padding: 0; list-style: none }
    nav details > ul { padding: .25rem .5rem .75rem }
    nav a { display: block; padding: .625rem .5rem; border-radius: .375rem; color: var(--text);
      line-height: 1.25rem; text-decoration: none }
    nav a:hover { background: var(--hover) }
    nav a:focus-visible { outline-offset: -2px }
    nav [aria-current] { background: var(--hover); font-weight: 600 }
    nav ul ul { margin: .25rem 0 .75rem .5rem; border-inline-start: 1px solid var(--line);
      font-size: .875rem }
    nav ul ul a { padding-inline-start: .75rem; margin-inline-start: -1px; color: var(--muted) }
    nav ul ul [aria-current] { color: var(--text); font-weight: 400; background: none;
      box-shadow: inset 2px 0 0 var(--link); border-radius: 0 }
    nav .more { border-top: 1px solid var(--line); padding-top: .5rem }
    nav .more a { color: var(--muted) }

    """

  private static let text = """
    h1 { font-size: 1.75rem; line-height: 2.25rem }
    h2 { margin: 0 0 .5rem; font-size: 1.25rem; line-height: 1.75rem; letter-spacing: -.01em;
      text-wrap: pretty }
    main > h2 { margin-top: 2.5rem }
    h2 a { color: inherit; text-decoration: none }
    h2 a:hover { text-decoration: underline }
    h3 { margin: 1.5rem 0 .5rem; color: var(--text) }
    .summary { color: var(--muted); font-size: 1.0625rem }
    .prose code, .results code, .index code { font-size: .875em }
    .prose p code, .members p code, .summary code { padding: .0625rem .25rem; background: var(--hover);
      border-radius: .25rem }
    .prose li { max-width: 60ch }
    .prose ul:not([class]) { padding-inline-start: 1.25rem }
    .prose ul:not([class]) li { padding: .25rem 0 }
    .prose p.route code { padding: 0; background: none; font-size: .9375rem }
    .route b { margin-inline-end: .25rem; font-size: .8125rem; letter-spacing: .02em }
    .get { color: var(--success) }
    .post, .put, .patch { color: var(--link) }
    .delete { color: var(--danger) }
    .tag { display: inline-block; padding: 0 .5rem; border-radius: 1rem; background: var(--hover);
      color: var(--muted); font-size: .75rem; line-height: 1.25rem; font-weight: 600;
      letter-spacing: 0; vertical-align: .0625rem }
    .members { margin: 0; padding: 0; list-style: none }
    .members > li { max-width: none; padding: .625rem 0; border-top: 1px solid var(--line) }
    .members p { margin: .25rem 0 0; color: var(--muted); font-size: .9375rem; line-height: 1.375rem }
    .prose .name { font-weight: 600 }
    .kind, .optional { color: var(--muted); font-size: .875rem }
    .required { color: var(--danger); font-size: .875rem }
    .errors a { white-space: nowrap }
    .chapters { display: grid; gap: .75rem; margin: 1rem 0 2rem; padding: 0; list-style: none;
      grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)) }
    .chapters li { position: relative; padding: .875rem 1rem; border: 1px solid var(--line);
      border-radius: .75rem }
    .chapters a { font-weight: 600; text-decoration: none }
    .chapters a::after { content: ""; position: absolute; inset: 0; border-radius: .75rem }
    .chapters p { margin: .25rem 0 0; color: var(--muted); font-size: .875rem; line-height: 1.25rem }
    .index, .results { margin: 0; padding: 0; list-style: none }
    .index li { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between;
      max-width: none; padding: .5rem 0; border-top: 1px solid var(--line); font-size: .9375rem }
    .index code, .results p { color: var(--muted) }
    :target { scroll-margin-top: 1rem }
    li:target { background: var(--hover) }
    .back { margin: 0 0 .5rem }
    .back a { display: inline-block; padding: .5rem 0; font-size: .875rem; text-decoration: none }
    .back a:hover { text-decoration: underline }
    .back a::before { content: "\\2190"; content: "\\2190" / ""; margin-inline-end: .5rem }

    """

  private static let search = """
    form { position: relative; display: flex; flex: 1 1 16rem; gap: .5rem; max-width: 36rem }
    button { flex: none; min-height: 2.75rem; padding: 0 1rem; font: inherit; font-weight: 600;
      color: var(--text); background: var(--surface); border: 1px solid var(--control);
      border-radius: var(--radius); cursor: pointer }
    button:hover { background: var(--hover); border-color: var(--text) }
    ::placeholder { color: var(--muted); opacity: 1 }
    #suggestions { position: absolute; inset: calc(100% + .375rem) 0 auto; z-index: 2; padding: .5rem;
      max-height: 70vh; overflow-y: auto; background: var(--surface); border: 1px solid var(--line);
      border-radius: .75rem; box-shadow: 0 8px 32px #00000029; font-size: .9375rem }
    #suggestions li { position: relative; padding: .5rem; border: 0; border-radius: .5rem }
    #suggestions li:hover, #suggestions li:focus-within { background: var(--hover) }
    #suggestions a::after { content: ""; position: absolute; inset: 0; border-radius: .5rem }
    #suggestions a:focus-visible { outline: none }
    #suggestions a:focus-visible::after { outline: 3px solid var(--focus); outline-offset: -3px }
    .results li { padding: .75rem 0; border-top: 1px solid var(--line) }
    .results a { font-weight: 600; text-decoration: none }
    .results a:hover { text-decoration: underline }
    .results p { margin: 0; font-size: .875rem; line-height: 1.25rem }
    .results .kind { margin-inline-end: .5rem }

    """

  private static let examples = """
    figure { margin: 0 0 1rem; background: var(--bg); border: 1px solid var(--line);
      border-radius: .75rem; overflow: hidden }
    figcaption { display: flex; align-items: center; justify-content: space-between; gap: 1rem;
      min-height: 2.5rem; padding: 0 .75rem; color: var(--muted); font-size: .8125rem;
      font-weight: 600; border-bottom: 1px solid var(--line) }
    figcaption button { min-height: 1.75rem; padding: 0 .5rem; color: inherit; background: none;
      border-color: transparent; font-size: inherit; border-radius: .375rem }
    pre { margin: 0; padding: .75rem; max-height: 28rem; overflow: auto; overflow-wrap: normal;
      font: .8125rem/1.25rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
    pre, nav, #suggestions { scrollbar-width: thin; scrollbar-color: var(--line) transparent }
    pre:focus-visible { outline-offset: -3px }

    """

  private static let media = """
    @media (min-width: 60rem) {
      html { scroll-padding-top: 5.5rem }
      body > header { position: sticky; top: 0; z-index: 2; height: 4.25rem; flex-wrap: nowrap;
        padding-inline: 1.5rem }
      .home { flex: 0 0 16rem }
      .frame { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); max-width: 96rem }
      nav { position: sticky; top: 4.25rem; height: calc(100vh - 4.25rem); overflow-y: auto;
        padding: 1rem .5rem; border: 0; border-inline-end: 1px solid var(--line) }
      nav details[open] > summary { display: none }
      nav details > ul { padding: 0 .5rem }
      nav details > .more { margin-top: .75rem; padding-top: .75rem }
      nav a { padding: .375rem .5rem }
      main { padding: 2.5rem 2.5rem 4rem }
    }
    @supports selector(::details-content) {
      @media (min-width: 60rem) {
        nav summary { display: none }
        nav details::details-content { content-visibility: visible; display: block }
      }
    }
    @media (min-width: 75rem) {
      .part { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 3rem;
        padding-block: 2.5rem }
      .part:has(> .examples:empty) { grid-template-columns: minmax(0, 1fr) }
      .examples:not(:empty) { position: sticky; top: 6rem; align-self: start; margin: 0 }
    }
    @media (forced-colors: active) {
      nav [aria-current] { border: 1px solid CanvasText }
    }
    @media print {
      :root { color-scheme: light }
      nav, form, .neighbors, figcaption button { display: none !important }
      pre { max-height: none; white-space: pre-wrap }
    }

    """
}
