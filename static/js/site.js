// Conveniences: every page works without them.
(function () {
  "use strict";
  const on = document.addEventListener.bind(document);
  const RETRY_MS = 3000;
  const CLICK_MS = 50; // by then a press that has ended was a click
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

  // The server writes UTC; readers see their own zone, the full instant on hover.
  function localTimes(root) {
    for (const element of root.querySelectorAll("time[datetime][data-local]")) {
      const when = new Date(element.dateTime);
      if (Number.isNaN(when.getTime())) continue;
      const today = when.toDateString() === new Date().toDateString();
      element.textContent = today ? clock.format(when) : `${day.format(when)} ${clock.format(when)}`;
      element.title = full.format(when);
      element.removeAttribute("data-local");
    }
  }

  on("DOMContentLoaded", () => localTimes(document));
  on("htmx:afterSwap", () => localTimes(document));

  // A request of htmx that fails is visible until the next answer. What only reads is asked again, as what polls is.
  let retry = 0;
  function failed(event) {
    const { elt, requestConfig, pathInfo, xhr } = event.detail, status = xhr?.status;
    const polls = elt.getAttribute("hx-trigger")?.includes("every ");
    const again = requestConfig.verb === "get" && (!status || status >= 502);
    answered();
    const note = document.createElement("p");
    note.className = "note note--warn request-note";
    note.setAttribute("role", "alert");
    note.textContent = `${status ? `The server answered ${status}` : "No answer from the server"}, ${polls || again ? "retrying" : "try again"}.`;
    document.body.append(note);
    if (polls || !again) return;
    const ask = () => elt.isConnected && window.htmx.ajax("get", pathInfo.requestPath, { source: elt, event: requestConfig.triggeringEvent });
    retry = setTimeout(ask, RETRY_MS);
  }
  function answered() {
    clearTimeout(retry);
    document.querySelector(".request-note")?.remove();
  }
  for (const type of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) on(type, failed);
  on("htmx:afterOnLoad", (event) => event.detail.successful && answered());

  // Where a part of the page is replaced, what was opened stays open, what had the focus keeps it, and fields keep what
  // was typed or chosen since the request.
  const FIELDS = "input[id]:not([type=checkbox], [type=radio], [type=file]), select[id], textarea[id]";
  const find = (id) => document.getElementById(id);
  let before = null;
  on("htmx:beforeSwap", function ({ detail }) {
    const sent = detail.requestConfig?.parameters || {};
    const isTyped = ({ name, value }) => typeof sent[name] === "string" && sent[name] !== value;
    const typed = [...document.querySelectorAll(FIELDS)].filter(isTyped).map(({ id, value }) => [id, value]);
    const details = [...document.querySelectorAll("details[id]")].map(({ id, open }) => [id, open]);
    const help = document.querySelector(":popover-open")?.id;
    before = { focus: document.activeElement?.id, top: scrollY, details, help, typed };
  });
  on("htmx:afterSwap", function () {
    const changed = (before?.details || []).filter(([id, open]) => (find(id)?.open ?? open) !== open);
    for (const [id, open] of changed) find(id).open = open;
    if (changed.length) scrollTo({ top: before.top, behavior: "instant" });
    if (before?.focus) find(before.focus)?.focus({ preventScroll: true });
    for (const [id, value] of before?.typed || []) {
      const field = find(id);
      if (field) field.value = value;
    }
    const source = before?.help && document.querySelector(`[popovertarget=${before.help}]`);
    if (source) find(before.help).showPopover({ source });
    before = null;
  });

  // What arrives while something is pressed would move it away from below the pointer, and the press would be none.
  let isPressed = false;
  const waiting = [];
  function release() {
    isPressed = false;
    setTimeout(() => isPressed || waiting.splice(0).forEach((xhr) => xhr.onload()), CLICK_MS);
  }
  on("pointerdown", () => (isPressed = true), true);
  for (const type of ["pointerup", "pointercancel"]) on(type, release, true);
  on("htmx:beforeOnLoad", function (event) {
    if (!isPressed) return;
    event.preventDefault();
    waiting.push(event.detail.xhr);
  });

  // A table as Markdown: the rows that are shown, without columns of boxes and buttons, whose headings nobody sees.
  function markdown(table) {
    const heads = [...table.tHead.rows[0].cells], columns = heads.map((head) => !head.querySelector(":scope > .sr-only:only-child"));
    const text = (cell) => cell.innerText.trim().replace(/\s+/g, " ").replaceAll("|", "\\|");
    const line = (texts) => `| ${texts.filter((_, column) => columns[column]).join(" | ")} |`;
    const cells = (row) => [...row.cells].flatMap((cell) => [text(cell), ...Array(cell.colSpan - 1).fill("")]);
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.offsetParent);
    const rules = heads.map((head) => (head.classList.contains("num") ? "--:" : "---"));
    return [heads.map(text), rules, ...rows.map(cells)].map(line).join("\n") + "\n";
  }

  on("click", async function (event) {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const source = document.querySelector(copy.dataset.copy);
      if (!source) return;
      event.preventDefault();
      await navigator.clipboard.writeText(source.tBodies ? markdown(source) : source.textContent.trim());
      const word = copy.textContent;
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = word), 1500);
      return;
    }
    // A click elsewhere closes an open menu.
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  on("keydown", function (event) {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // <table data-sortable>: a heading with data-sort is a button; "falls" begins with the highest. Pinned rows stay on top.
  function sortable(root) {
    for (const heading of root.querySelectorAll("[data-sortable] th[data-sort]:not(:has(.sort))")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...[...heading.childNodes].filter((node) => !node.matches?.(".help, [popover]")));
      heading.prepend(button);
    }
  }

  function sort(heading) {
    const falls = heading.ariaSort ? heading.ariaSort === "ascending" : heading.dataset.sort === "falls";
    const body = heading.closest("table").tBodies[0], column = heading.cellIndex;
    for (const other of heading.parentNode.cells) other.ariaSort = null;
    heading.ariaSort = falls ? "descending" : "ascending";
    const key = (row) => row.cells[column]?.dataset.value ?? (heading.dataset.sort ? null : row.cells[column].textContent.trim());
    const compare = (a, b) => (heading.dataset.sort ? a - b : a.localeCompare(b, "en", { numeric: true }));
    const rows = [...body.rows].filter((row) => !("pinned" in row.dataset));
    rows.sort((a, b) => (key(a) === null) - (key(b) === null) || (key(a) === null ? 0 : compare(key(a), key(b)) * (falls ? -1 : 1)));
    body.append(...rows);
  }

  on("DOMContentLoaded", () => sortable(document));
  on("htmx:afterSwap", () => sortable(document));
  on("click", (event) => event.target.closest("button.sort") && sort(event.target.closest("th")));

  // <select data-submit> sends its form at once; without JavaScript the form's own button does.
  on("change", function (event) {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });

  // The sum of the shares of a mix, while they are typed.
  function total(set) {
    const sum = [...set.querySelectorAll("input")].reduce((sum, input) => sum + Number(input.value), 0);
    const rounded = Math.round(sum * 1e8) / 1e8;
    set.querySelector("output").textContent = `${rounded} of ${set.dataset.total}`;
    set.querySelector("output").classList.toggle("worse", rounded !== Number(set.dataset.total));
  }
  on("input", (event) => event.target.closest("[data-total]") && total(event.target.closest("[data-total]")));
  on("DOMContentLoaded", () => document.querySelectorAll("[data-total]").forEach(total));
})();
