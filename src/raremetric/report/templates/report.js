"use strict";
(() => {
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const remember = {
    // A page opened from a file may have no storage.
    get() { try { return localStorage.getItem("theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("theme", theme); } catch { /* not kept */ } },
  };

  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const showTheme = () => toggle.setAttribute("aria-pressed", String(isDark()));

  const kept = remember.get();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember.set(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // Names by the alphabet, figures by size, missing ones last in both directions.
  const keyOf = (row, column, isFigure) => {
    const text = row.cells[column].dataset.value;
    if (text === undefined) return null;
    return isFigure ? Number(text) : text;
  };
  const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * order(a, b);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const isFigure = head.classList.contains("figure");
        const turns = isFigure ? ["descending", "ascending"] : ["ascending", "descending"];
        const next = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1];
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        const rows = [...original];
        if (next) {
          head.setAttribute("aria-sort", next);
          const sign = next === "ascending" ? 1 : -1;
          const keys = new Map(rows.map((row) => [row, keyOf(row, column, isFigure)]));
          rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign));
        }
        body.append(...rows);
      });
    });
  }
})();
