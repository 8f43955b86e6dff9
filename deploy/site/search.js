// The search of the site, without a server. It finds the same places as the search of the reference:
// each typed word begins a word of the place, in its title or its detail, or else in its text. If no place
// has all words, fillers and plurals do not count; then the places with the most words match.
{
  const root = new URL("..", document.currentScript.src);
  const wordLimit = 10, resultLimit = 50;
  const wordsOf = (text) => text.toLowerCase().match(/[0-9a-z$\u0080-\u{10ffff}]+/gu) ?? [];

  // Returns the best rank of a place for a word, or undefined.
  function rankOf(place, word) {
    const rank = place.words.findIndex((words) => words.startsWith(word) || words.includes(` ${word}`));
    return rank < 0 ? undefined : rank;
  }

  const fillers = new Set(
    "a an and are can do does for get how i in is mean means my of on the through to what when with".split(" "));

  function placesMatching(text) {
    const typed = [...new Set(wordsOf(text))].slice(0, wordLimit);
    const telling = typed.filter((word) => !fillers.has(word))
      .map((word) => word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word);
    return [withAllOf(typed), withAllOf(telling), withMostOf(telling)]
      .find((places) => places.length > 0) ?? [];
  }

  function withAllOf(typed) {
    const found = typed.length === 0 ? [] : globalThis.searchPlaces.flatMap((place, index) => {
      const ranks = typed.map((word) => rankOf(place, word));
      if (ranks.includes(undefined)) return [];
      const sum = ranks.reduce((all, rank) => all + rank);
      return [{ place, index, sum, isInText: ranks.includes(2) }];
    });
    const exact = found.filter((one) => !one.isInText);
    return (exact.length > 0 ? exact : found)
      .sort((a, b) => a.sum - b.sum || a.index - b.index).map((one) => one.place);
  }

  // Returns the places that have the most of several words, in their titles or their details.
  function withMostOf(typed) {
    const found = globalThis.searchPlaces.map((place, index) => {
      const ranks = typed.map((word) => rankOf(place, word)).filter((rank) => rank < 2);
      return { place, index, words: ranks.length, sum: ranks.reduce((all, rank) => all + rank, 0) };
    });
    const most = Math.max(1, ...found.map((one) => one.words));
    return found.filter((one) => one.words === most)
      .sort((a, b) => a.sum - b.sum || a.index - b.index).map((one) => one.place);
  }

  function element(name, text, kind) {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function itemOf(place) {
    const item = document.createElement("li"), link = element("a", place.title);
    link.href = new URL(place.address, root);
    const detail = element("p", "");
    detail.append(
      element("span", place.chapter, "kind"), " ", element(place.isRoute ? "code" : "span", place.detail));
    item.append(link, ...(place.tag ? [" ", element("span", place.tag, "tag")] : []), detail);
    return item;
  }

  // The script of the reference calls it while the user types.
  globalThis.findPlaces = (text) => {
    const places = placesMatching(text);
    const shown = places.slice(0, resultLimit);
    const count = places.length === 0 ? "Nothing here has these words."
      : places.length === 1 ? "1 result"
      : places.length <= resultLimit ? `${places.length} results`
      : `The first ${resultLimit} of ${places.length} results`;
    if (places.length === 0) return { count };
    const results = document.createElement("ol");
    results.className = "results";
    results.append(...shown.map(itemOf));
    return { results, count };
  };

  // The script of the reference unfolds the navigation before.
  addEventListener("load", () => {
    document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
  });

  const found = document.getElementById("found");
  const text = new URLSearchParams(location.search).get("q") ?? "";
  if (found) {
    const { results, count } = globalThis.findPlaces(text);
    document.getElementById("q").value = text;
    document.title = `Search: ${text}`;
    document.getElementById("count").textContent = text.trim() === "" ? "Type words above." : count;
    if (results) found.append(results);
  }
}
