"use strict";
(() => {
  const root = document.documentElement;
  const toggle = document.getElementById("theme_toggle");
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const storedTheme = {
    // Storage may be unavailable for a page opened from a file.
    get() { try { return localStorage.getItem("theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("theme", theme); } catch { /* not remembered */ } },
  };

  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const showTheme = () => toggle.setAttribute("aria-pressed", String(isDark()));

  const stored = storedTheme.get();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storedTheme.set(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // A box that scrolls sideways fades out on the right while there is more to see.
  const fade = (box) => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
  const resized = new ResizeObserver((entries) => entries.forEach((each) => fade(each.target)));
  for (const box of document.querySelectorAll(".scroll, .wide")) {
    box.addEventListener("scroll", () => fade(box), { passive: true });
    resized.observe(box);
  }

  // Text is sorted alphabetically, numbers by size; missing values come last in both directions.
  const keyOf = (row, column, isNumber) => {
    const text = row.cells[column].dataset.value;
    if (text === undefined) return null;
    return isNumber ? Number(text) : text;
  };
  const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * order(a, b);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => {
        const isNumber = heading.classList.contains("number");
        const directions = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
        const next = directions[directions.indexOf(heading.getAttribute("aria-sort")) + 1];
        headings.forEach((each) => each.removeAttribute("aria-sort"));
        const rows = [...original];
        if (next) {
          heading.setAttribute("aria-sort", next);
          const sign = next === "ascending" ? 1 : -1;
          const keys = new Map(rows.map((row) => [row, keyOf(row, column, isNumber)]));
          rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign));
        }
        body.append(...rows);
      });
    });
  }
})();
