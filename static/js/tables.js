// A telephone has no room for a table that would scroll sideways: its rows become blocks, whose cells say their column.
// Pages of the site and frozen reports load it, the file of a report holds it.
(function () {
  "use strict";
  const narrow = matchMedia("(max-width: 600px)");

  // The lowest heading above a cell. Cells that span columns say what they are themselves.
  function heading(heads, cell) {
    const isEmpty = !cell.innerText.trim() && !cell.querySelector("input:not([type=checkbox])");
    if (cell.colSpan > 1 || isEmpty) return "";
    return heads.findLast((head) => head.offsetLeft === cell.offsetLeft)?.innerText.trim() ?? "";
  }

  function fold() {
    if (!narrow.matches) return;
    for (const table of document.querySelectorAll(".table-wrap > .table:not(.table--fold)")) {
      const { scrollWidth, clientWidth } = table.parentNode;
      if (scrollWidth <= clientWidth || !table.checkVisibility() || !table.tHead) continue;
      // Heads of columns of buttons are heard only.
      const heads = [...table.tHead.querySelectorAll("th:not(:has(> .sr-only))")];
      const names = [...table.querySelectorAll("tbody td")].map((cell) => [cell, heading(heads, cell)]);
      for (const [cell, name] of names) if (name) cell.dataset.name ??= name;
      table.classList.add("table--fold");
    }
  }

  for (const type of ["DOMContentLoaded", "htmx:afterSwap", "toggle"]) document.addEventListener(type, fold, true);
  narrow.addEventListener("change", fold);
})();
