// Shows the figures of a page one by one over the whole screen. A button [data-present] or the address' #present starts
// it; arrow keys, Page Up and Down, the space bar, Home and End turn the pages, Escape ends it.
(function () {
  "use strict";
  const KEYS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
  let shown = [], at = 0, bar = null, back = null;

  const figures = () => [...document.querySelectorAll("figure[data-src]:not(.figure--spark)")].filter((one) => one.offsetParent);

  // Letters are drawn for a slide, so that the last row can read them.
  function draw(figure, medium) {
    const url = new URL(figure.dataset.src, location.href);
    if (medium) url.searchParams.set("medium", medium);
    else url.searchParams.delete("medium");
    figure.dataset.src = url.pathname + url.search;
    figure.dispatchEvent(new CustomEvent("benchsite:redraw", { bubbles: true }));
  }

  function make(tag, className, text) {
    return Object.assign(document.createElement(tag), { className, textContent: text });
  }

  function turn(to) {
    leave();
    at = Math.min(Math.max(to, 0), shown.length - 1);
    const figure = shown[at];
    const title = figure.dataset.title || figure.dataset.name || "figure";
    // What was found, then what is drawn, of which comparison or report.
    const finding = document.querySelector(".headline__first, .report__headline");
    const subject = document.querySelector("[data-subject]")?.dataset.subject || document.querySelector("h1").textContent.trim();
    const heading = make("div", "present__title", "");
    if (finding) heading.append(make("p", "", finding.textContent.trim()));
    heading.append(make("p", "", `${title}, ${subject}`));
    figure.prepend(heading);
    figure.classList.add("is-presented");
    draw(figure, "slide");
    bar.querySelector("[role=status]").textContent = `${at + 1} of ${shown.length}: ${title}`;
    for (const button of bar.querySelectorAll("[data-step]")) button.disabled = at + +button.dataset.step < 0 || at + +button.dataset.step >= shown.length;
  }

  function leave() {
    const figure = document.querySelector(".is-presented");
    if (!figure) return;
    figure.classList.remove("is-presented");
    figure.querySelector(".present__title")?.remove();
    draw(figure, "");
  }

  function button(text, label, act, step) {
    const made = make("button", "button button--small", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    if (step) made.dataset.step = step;
    made.addEventListener("click", act);
    return made;
  }

  function start(first, asked) {
    shown = figures();
    if (!shown.length || bar) return;
    back = document.activeElement;
    bar = make("div", "present__bar", "");
    const said = make("span", "", "");
    said.setAttribute("role", "status");
    bar.append(said, button("←", "Previous figure", () => turn(at - 1), -1), button("→", "Next figure", () => turn(at + 1), 1), button("End", "End the presentation", end));
    document.body.append(bar);
    document.documentElement.classList.add("presenting");
    // A browser goes full screen only when a person asked; the page is covered in any case.
    if (asked) document.documentElement.requestFullscreen?.().catch(() => {});
    turn(first);
    // Not a button: the space bar would press it.
    bar.tabIndex = -1;
    bar.focus();
  }

  function end() {
    if (!bar) return;
    leave();
    bar.remove();
    bar = null;
    document.documentElement.classList.remove("presenting");
    if (document.fullscreenElement) document.exitFullscreen();
    back?.focus?.();
  }

  document.addEventListener("keydown", function (event) {
    if (!bar || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.closest?.("button")) return;
    if (event.key === "Escape") return end();
    const to = event.key === "Home" ? 0 : event.key === "End" ? shown.length - 1 : KEYS[event.key] ? at + KEYS[event.key] : null;
    if (to === null) return;
    event.preventDefault();
    turn(to);
  });
  // Escape leaves full screen without a key event.
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || end());
  document.addEventListener("click", (event) => event.target.closest("[data-present]") && start(0, true));
  function offer() {
    for (const button of document.querySelectorAll("[data-present]")) button.hidden = false;
  }

  document.addEventListener("htmx:afterSettle", offer); // A changed menu brings the button anew.
  document.addEventListener("DOMContentLoaded", function () {
    offer();
    const asked = /^#present(?:-(\d+))?$/.exec(location.hash);
    if (asked) setTimeout(() => start((asked[1] || 1) - 1, false), 300);
  });
})();
