// Links the figures of a page with its table: hover, hidden sides and zoom are shared. A press or Enter on a point opens
// its run, on a bar its sweep. Traces carry their sweep as `meta`, points their run as `customdata`, a table row its sweep
// as data-side. The state is the fragment of the address: #hide=ID,ID&READ+p99=x0,x1,y0,y1. What a reader changes is a
// step of the browser's history.
(function () {
  "use strict";
  const ID_LENGTH = 12; // of a sweep's id in the address: its random end
  const NO_ID = "00000000-0000-0000-0000-000000000000";
  const MAX_TRACES = 150; // of a figure that dims its other sides
  const hidden = new Set(), zooms = new Map();
  let resets = 0, shown = null, touched = null, viewed = "";

  const short = (side) => side.slice(-ID_LENGTH);
  const page = () => document.querySelector("[data-run-href]");
  const figures = () => [...document.querySelectorAll("figure[data-src]")];
  const isPressed = () => document.querySelector(".dragcover"); // Plotly lays it over the page at mouse-down
  const plotOf = (figure) => figure.querySelector(".js-plotly-plot");

  // Ranges mean something on the axes that they were taken from only.
  const zoomOf = (figure, { xaxis, yaxis }) => figure.dataset.name + (xaxis.type === "log" ? " x" : "") + (yaxis.type === "log" ? " y" : "");

  function read() {
    const asked = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    hidden.clear();
    zooms.clear();
    for (const [name, value] of asked) {
      if (name !== "hide") zooms.set(name, value.split(",").map(Number));
      else for (const side of value.split(",").filter(Boolean)) hidden.add(side);
    }
  }

  function store(isChoice) {
    const state = new URLSearchParams(), link = document.querySelector("#permalink");
    if (hidden.size) state.set("hide", [...hidden].join(","));
    for (const [name, range] of zooms) state.set(name, range.map((value) => Math.round(value * 1e4) / 1e4).join(","));
    const fragment = state.size ? `#${decodeURIComponent(state)}` : "";
    viewed = location.pathname + location.search;
    // Other fragments, like that of the presentation, stay.
    if (fragment !== location.hash && (fragment || location.hash.includes("="))) {
      if (isChoice) history.pushState(null, "", viewed + fragment);
      else history.replaceState(history.state, "", viewed + fragment);
    }
    if (link) link.textContent = link.textContent.split("#")[0] + fragment;
    for (const button of document.querySelectorAll("[data-reset-view]")) button.hidden = !state.size;
    for (const box of document.querySelectorAll("[data-side] .side-shown:not([name])")) box.checked = !hidden.has(short(box.closest("tr").dataset.side));
  }

  // charts.js asks what of a drawing is shown.
  window.benchsiteView = function (figure, drawing) {
    if (!page()?.contains(figure)) return drawing;
    const isHidden = (side) => side && hidden.has(short(side));
    const data = drawing.data.map((trace) => (isHidden(trace.meta) ? { ...trace, visible: trace.showlegend ? "legendonly" : false } : trace));
    const name = zoomOf(figure, drawing.layout), layout = { ...drawing.layout, uirevision: `${name} ${resets}` };
    layout.annotations = layout.annotations?.filter((note) => !isHidden(note.name));
    const zoom = zooms.get(name);
    if (zoom?.length === 4 && zoom.every(Number.isFinite)) {
      layout.xaxis = { ...layout.xaxis, range: zoom.slice(0, 2) };
      layout.yaxis = { ...layout.yaxis, range: zoom.slice(2) };
    }
    return { data, layout };
  };

  function redraw(isChoice) {
    store(isChoice);
    document.dispatchEvent(new Event("benchsite:theme"));
  }

  function toggle(side, hide = !hidden.has(short(side))) {
    if (hide) hidden.add(short(side));
    else hidden.delete(short(side));
  }

  function highlight(side) {
    if (side === shown || isPressed()) return; // Plotly would lose the point below the pointer
    shown = side;
    for (const row of document.querySelectorAll("[data-side]")) row.classList.toggle("is-linked", row.dataset.side === side);
    requestAnimationFrame(function () {
      if (shown !== side || isPressed()) return;
      for (const figure of figures()) {
        const plot = plotOf(figure);
        if (!plot?.data || plot.data.length > MAX_TRACES || !plot.data.some((trace) => trace.meta)) continue;
        window.Plotly.restyle(plot, { opacity: plot.data.map((trace) => (side && trace.meta && trace.meta !== side ? 0.2 : 1)) });
      }
    });
  }

  const address = ({ meta }, run) => (run || meta) && page()?.dataset[run ? "runHref" : "sweepHref"]?.replace(NO_ID, run || meta);

  function open(trace, run) {
    const href = address(trace, run);
    if (href) location.assign(href);
  }

  document.addEventListener("benchsite:drawn", function (event) {
    const plot = event.target, nameOf = () => plot.closest("figure").dataset.name;
    if (!page()?.contains(plot) || !plot.data.some((trace) => trace.meta)) return;
    plot.setAttribute("aria-label", `${nameOf()}. Arrow keys move over the points, Enter opens one.`);
    plot.on("plotly_hover", function ({ points: [{ data, customdata }] }) {
      plot.classList.toggle("is-link", !!address(data, customdata));
      highlight(data.meta || null);
    });
    plot.on("plotly_unhover", function () {
      plot.classList.remove("is-link");
      highlight(null);
    });
    plot.addEventListener("benchsite:press", function ({ detail: { point, byTouch } }) {
      const key = `${nameOf()} ${point.curveNumber} ${point.pointNumber}`;
      // The first touch shows what a point is, the second opens it.
      if (byTouch && touched !== key) return void (touched = key);
      open(point.data, point.customdata);
    });
    plot.on("plotly_legendclick", function (click) {
      const { legendgroup, meta } = plot.data[click.curveNumber];
      const sides = new Set(plot.data.filter((trace) => trace.meta && trace.legendgroup === legendgroup).map((trace) => trace.meta));
      const hide = meta && !hidden.has(short(meta));
      for (const side of sides) toggle(side, hide);
      redraw(true);
      return false;
    });
    plot.on("plotly_legenddoubleclick", () => false);
    plot.on("plotly_relayout", function (change) {
      const line = Object.keys(change).map((name) => /^shapes\[(\d+)\]\.(x|y)0$/.exec(name)).find((match) => match && plot.layout.shapes[match[1]].name === (match[2] === "x" ? "load" : "within"));
      if (line) {
        const input = document.querySelector(line[2] === "x" ? "#load-number" : "#within-number");
        const value = Math.max(change[line[0]], 0.001), unit = 10 ** Math.floor(Math.log10(value) - 2);
        input.value = Math.round(value / unit) * unit;
        return input.dispatchEvent(new Event("change", { bubbles: true }));
      }
      if (!Object.keys(change).some((name) => name.includes("axis"))) return;
      const { xaxis, yaxis } = plot.layout, name = zoomOf(plot.closest("figure"), plot.layout);
      if (change["xaxis.range[0]"] === undefined && change["yaxis.range[0]"] === undefined) zooms.delete(name);
      else zooms.set(name, [...xaxis.range, ...yaxis.range]);
      store(true);
    });
  });
  document.addEventListener("benchsite:point", ({ detail }) => highlight(detail?.data.meta || null), true);

  function boxes() {
    for (const row of document.querySelectorAll("[data-side]:not(:has(.side-shown))")) {
      const box = document.createElement("input");
      Object.assign(box, { type: "checkbox", className: "side-shown" });
      box.setAttribute("aria-label", `Show ${row.querySelector("a").textContent} in the figures`);
      row.cells[0].prepend(box);
    }
    store();
  }

  read();
  document.addEventListener("DOMContentLoaded", boxes);
  document.addEventListener("htmx:afterSwap", boxes);
  document.addEventListener("htmx:pushedIntoHistory", () => store());
  document.addEventListener("change", function (event) {
    if (!event.target.matches(".side-shown:not([name])")) return;
    toggle(event.target.closest("tr").dataset.side, !event.target.checked);
    redraw(true);
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest("[data-reset-view]")) return;
    hidden.clear();
    zooms.clear();
    resets++;
    redraw(true);
  });
  // Back and Forward between views of one page are none of htmx's business: it would load the page.
  addEventListener("popstate", function (event) {
    if (location.hash && !location.hash.includes("=")) return;
    if (location.pathname + location.search !== viewed) return event.state || location.reload();
    event.stopImmediatePropagation();
    read();
    resets++;
    redraw();
  }, true);
  for (const type of ["pointerover", "focusin"])
    document.addEventListener(type, function (event) {
      const row = event.target.closest?.("[data-side]");
      if (row || (shown && !event.target.closest?.("figure"))) highlight(row?.dataset.side || null);
    });
})();
