"use strict";
(() => {
  const review = document.getElementById("review");
  const [filter, shown, exporting] = ["filter", "shown", "export"].map((id) => document.getElementById(id));
  const articles = [...review.querySelectorAll("article")];
  // The filter searches the row itself, not the examples beside it.
  const own = ".name, .body > p, tbody td:nth-child(2)";
  const textOf = (article) => [...article.querySelectorAll(own)].map((each) => each.textContent).join(" ");
  const ownText = new Map(articles.map((each) => [each, textOf(each).toLowerCase()]));
  let current = null;

  // Key of an alert -> {verdict, note}, in the browser's storage if there is one.
  const load = () => {
    try {
      const found = JSON.parse(localStorage.getItem(review.dataset.key));
      return found !== null && typeof found === "object" ? found : {};
    } catch { return {}; }
  };
  const judged = load();
  const save = () => {
    try { localStorage.setItem(review.dataset.key, JSON.stringify(judged)); }
    catch { document.getElementById("storage_note").hidden = false; }
  };
  const judgment = (article) => (judged[article.dataset.key] ??= { verdict: "", note: "" });

  const show = (article) => {
    const { verdict } = judgment(article);
    const mark = article.querySelector(".mark");
    article.dataset.verdict = verdict;
    mark.textContent = verdict;
    mark.hidden = !verdict;
    for (const button of article.querySelectorAll("[data-verdict]")) {
      button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    }
  };
  const countVerdicts = () => {
    const counts = { yes: 0, no: 0, unsure: 0 };
    for (const article of articles) {
      const { verdict } = judgment(article);
      if (verdict in counts) counts[verdict] += 1;
    }
    const done = counts.yes + counts.no + counts.unsure;
    document.getElementById("progress").textContent =
      `${done} of ${articles.length} reviewed: ${counts.yes} yes, ${counts.no} no, ${counts.unsure} unsure`;
  };

  const visible = () => articles.filter((each) => !each.hidden);
  const select = (article, focus = true) => {
    current = article;
    for (const each of articles) {
      const isCurrent = each === article;
      each.classList.toggle("current", isCurrent);
      each.querySelector(".open").setAttribute("aria-expanded", String(isCurrent));
    }
    if (article && focus) {
      article.querySelector(".open").focus({ preventScroll: true });
      article.scrollIntoView({ block: "nearest" });
    }
  };
  const move = (step) => {
    const list = visible();
    const at = list.indexOf(current);
    const next = at < 0 ? list[0] : list[Math.min(list.length - 1, Math.max(0, at + step))];
    if (next) select(next);
  };

  const matches = (article) => {
    const { verdict, note } = judgment(article);
    const wanted = filter.value.trim().toLowerCase();
    const text = `${ownText.get(article)} ${note.toLowerCase()}`;
    const kept = shown.value === "all" || verdict === (shown.value === "open" ? "" : shown.value);
    return kept && text.includes(wanted);
  };
  const applyFilter = () => {
    for (const article of articles) article.hidden = !matches(article);
    document.getElementById("nothing").hidden = visible().length > 0;
    if (!current || current.hidden) select(visible()[0] ?? null, false);
  };

  // The list is not filtered again here: an alert stays while its verdict is being changed.
  const judge = (article, verdict) => {
    const entry = judgment(article);
    entry.verdict = entry.verdict === verdict ? "" : verdict;
    save();
    show(article);
    countVerdicts();
  };

  for (const article of articles) {
    const note = article.querySelector("textarea");
    note.value = judgment(article).note;
    note.addEventListener("input", () => { judgment(article).note = note.value; save(); });
    article.querySelector(".judge").hidden = false;
    article.querySelector(".open").addEventListener("click", () => select(article === current ? null : article));
    for (const button of article.querySelectorAll("[data-verdict]")) {
      button.addEventListener("click", () => judge(article, button.dataset.verdict));
    }
    const all = article.querySelector(".all");
    if (all) {
      all.hidden = false;
      all.addEventListener("click", () => { article.querySelector("table").classList.add("whole"); all.hidden = true; });
    }
    show(article);
  }

  const keys = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    y: () => current && judge(current, "yes"),
    n: () => current && judge(current, "no"),
    u: () => current && judge(current, "unsure"),
    c: () => current && current.querySelector("textarea").focus(),
    "/": () => filter.focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const field = event.target.closest("input, textarea, select");
    if (field) {
      if (event.key === "Escape") { field.blur(); if (current) select(current); }
      return;
    }
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  filter.addEventListener("input", applyFilter);
  shown.addEventListener("change", applyFilter);

  // A spreadsheet runs a cell that begins with one of these characters as a formula.
  const guard = (text) => (/^'*[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const toCsv = () => {
    const labels = { yes: review.dataset.yes, no: review.dataset.no };
    const lines = [["row", "id", "probability", "verdict", "label", "note"]];
    for (const article of articles) {
      const { verdict, note } = judgment(article);
      if (!verdict && !note) continue;
      const { row, id, probability } = article.dataset;
      lines.push([row, guard(id), probability, verdict, guard(labels[verdict] ?? ""), guard(note)]);
    }
    return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
  };
  exporting.addEventListener("click", () => {
    const link = document.createElement("a");
    // The byte order mark tells Excel that the text is UTF-8.
    link.href = URL.createObjectURL(new Blob(["\ufeff", toCsv()], { type: "text/csv" }));
    link.download = review.dataset.download;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  review.classList.add("scripted");
  try { localStorage.setItem("raremetric-test", ""); localStorage.removeItem("raremetric-test"); }
  catch { document.getElementById("storage_note").hidden = false; }
  countVerdicts();
  applyFilter();
})();
