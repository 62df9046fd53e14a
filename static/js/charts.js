// Draws every <figure data-src="URL">. The URL answers JSON:
//   {figure: {data, layout}, caption, table: {columns, rows}, empty?, live?, csv?, json?}
// `?theme=light|dark` is added, and `&narrow=1` below 560 px. The server chooses every colour and decides about the data.
(function () {
  "use strict";
  const PLOTLY = document.currentScript.dataset.plotly;
  const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: "reset+autosize", showTips: false };
  const SLIDE = { name: "slide", width: 960, height: 540, scale: 2 };
  // A column of 84 mm is 317 CSS pixels wide; six device pixels for each give the 600 dpi that journals ask for.
  const PAPER = { name: "paper", width: 317, height: 238, scale: 6.25 };
  const known = new WeakMap();
  let plotly = null;

  function loadPlotly() {
    plotly ||= new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = PLOTLY;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("The drawing library did not load."));
      document.head.append(script);
    });
    return plotly;
  }

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function address(figure, theme, narrow) {
    const url = new URL(figure.dataset.src, location.href);
    if (theme) url.searchParams.set("theme", theme);
    if (narrow) url.searchParams.set("narrow", "1");
    return url;
  }

  // The server has an arrangement of its own for a telephone and for a column of paper.
  async function fetchJson(figure, theme, narrow) {
    const response = await fetch(address(figure, theme, narrow), { headers: { Accept: "application/json" } });
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    return response.json();
  }

  function build(figure) {
    const state = { cache: {}, timer: 0, plot: figure.querySelector(".figure__plot") || make("div", "figure__plot") };
    state.caption = figure.querySelector("figcaption") || make("figcaption");
    state.tools = make("div", "figure__tools");
    state.twin = make("details", "figure__table");
    state.twin.append(make("summary", "", "Table"), make("div", "table-wrap"));
    figure.querySelector(".figure__fallback")?.remove();
    figure.prepend(state.plot);
    if (!state.caption.isConnected) state.plot.after(state.caption);
    figure.append(state.tools, state.twin);
    if (figure.classList.contains("figure--spark")) state.tools.hidden = state.twin.hidden = true;
    known.set(figure, state);
    new ResizeObserver(() => state.drawn && state.plot.offsetParent && window.Plotly.Plots.resize(state.plot)).observe(state.plot);
    return state;
  }

  function say(state, text, isError) {
    if (state.drawn) window.Plotly.purge(state.plot);
    state.drawn = false;
    const box = make("p", "figure__state" + (isError ? " figure__state--error" : ""), text);
    if (isError) box.setAttribute("role", "alert");
    state.plot.replaceChildren(box);
  }

  function cell(tag, value, isNumber) {
    const element = make(tag, isNumber ? "num" : "");
    const short = typeof value === "number" ? Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 3 }) : value;
    element.textContent = value === null || value === undefined ? "–" : String(short).replace(/^-(?=\d)/, "−");
    if (typeof value === "number") element.title = String(value);
    return element;
  }

  function fillTable(state, table, caption) {
    const wrap = state.twin.lastElementChild;
    state.twin.hidden = !table || !table.rows.length || state.tools.hidden;
    if (state.twin.hidden) return wrap.replaceChildren();
    const numeric = table.columns.map((_, i) => table.rows.some((row) => typeof row[i] === "number"));
    const element = make("table", "table table--dense");
    element.append(make("caption", "sr-only", caption || "The figure's numbers"));
    const head = element.createTHead().insertRow();
    table.columns.forEach(function (column, i) {
      const th = cell("th", typeof column === "string" ? column : column.label, numeric[i]);
      th.scope = "col";
      head.append(th);
    });
    const body = element.createTBody();
    for (const row of table.rows) {
      const line = body.insertRow();
      row.forEach((value, i) => line.append(cell("td", value, numeric[i])));
    }
    wrap.replaceChildren(element);
  }

  function save(href, name) {
    const link = make("a");
    link.href = href;
    link.download = name;
    link.click();
  }

  function fileName(figure, size, format) {
    const stem = figure.dataset.name || (document.title.split("·")[0] + " " + (figure.id || "figure"));
    return stem.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") + `-${size}.${format}`;
  }

  async function picture(figure, state, size, format) {
    const Plotly = await loadPlotly();
    // Paper is white whatever theme the reader has.
    const theme = size === PAPER ? "light" : window.benchsiteTheme();
    const source = await fetchJson(figure, theme, size === PAPER);
    const layout = { ...source.figure.layout, autosize: false, paper_bgcolor: theme === "dark" ? "#15181e" : "#ffffff" };
    if (size === PAPER) layout.font = { ...layout.font, size: 8 };
    const { name, ...shape } = size;
    const href = await Plotly.toImage({ data: source.figure.data, layout }, { ...shape, format, scale: format === "svg" ? 1 : shape.scale });
    save(href, fileName(figure, name, format));
  }

  function fillTools(figure, state, json) {
    if (state.tools.childElementCount || state.tools.hidden) return;
    for (const [label, size, format] of [["Slide PNG", SLIDE, "png"], ["Slide SVG", SLIDE, "svg"], ["Paper PNG", PAPER, "png"], ["Paper SVG", PAPER, "svg"]]) {
      const button = make("button", "", label);
      button.type = "button";
      button.title = size === PAPER ? "One column, 84 mm" : "1920 × 1080";
      button.addEventListener("click", () => picture(figure, state, size, format));
      state.tools.append(button);
    }
    for (const format of ["csv", "json"]) {
      const href = figure.dataset[format] || json[format];
      if (!href) continue;
      const link = make("a", "", format.toUpperCase());
      link.href = href;
      link.setAttribute("download", "");
      state.tools.append(link);
    }
  }

  // Zooming into a run's series asks for that part, and fills in the form that cuts it; zooming out brings back all.
  function fill(figure, plot) {
    const form = document.querySelector(figure.dataset.fills), src = figure.dataset.src;
    plot.on("plotly_relayout", function (event) {
      const from = event["xaxis.range[0]"], to = event["xaxis.range[1]"], all = event["xaxis.autorange"];
      if (from === undefined && !all) return;
      figure.dataset.src = all ? src : `${src}?from_s=${from}&to_s=${to}`;
      draw(figure, true);
      if (!form) return;
      if (all) return form.reset();
      form.warmup_s.value = Math.max(from - form.dataset.begin, 0).toFixed(1);
      form.tail_s.value = Math.max(form.dataset.end - to, 0).toFixed(1);
    });
  }

  async function show(figure, state, json) {
    const drawing = json.figure;
    if (json.caption !== undefined) state.caption.textContent = json.caption;
    fillTable(state, json.table, json.caption);
    if (!drawing || !drawing.data || !drawing.data.length || json.empty) {
      return say(state, json.empty || "No data yet.", false);
    }
    const Plotly = await loadPlotly();
    if (!state.drawn) state.plot.replaceChildren();
    const layout = { ...drawing.layout, autosize: true };
    // A fixed uirevision keeps the reader's zoom while a live figure grows.
    layout.uirevision ??= "kept";
    await Plotly.react(state.plot, drawing.data, layout, CONFIG);
    if (!state.drawn && figure.dataset.fills) fill(figure, state.plot);
    state.drawn = true;
    state.plot.setAttribute("role", "img");
    state.plot.setAttribute("aria-label", json.caption || "Figure");
    fillTools(figure, state, json);
  }

  async function draw(figure, fresh) {
    const state = known.get(figure) || build(figure);
    const theme = window.benchsiteTheme();
    const turn = (state.turn = (state.turn || 0) + 1);
    clearTimeout(state.timer);
    try {
      if (fresh || !state.cache[theme]) {
        if (!state.drawn && !state.plot.childElementCount) say(state, "Drawing …", false);
        const json = await fetchJson(figure, theme, figure.clientWidth < 560);
        if (fresh) state.cache = {};
        state.cache[theme] = json;
      }
      if (turn !== state.turn || !figure.isConnected) return; // A later request has overtaken this one.
      await show(figure, state, state.cache[theme]);
    } catch (error) {
      if (turn === state.turn && !state.drawn) say(state, `The figure could not be drawn. ${error.message}`, true);
    }
    const seconds = Number(figure.dataset.refresh);
    const json = state.cache[theme];
    if (seconds && (!json || json.live !== false)) state.timer = setTimeout(() => poll(figure, state, seconds), seconds * 1000);
  }

  function poll(figure, state, seconds) {
    if (!figure.isConnected) return;
    if (document.visibilityState === "visible") draw(figure, true);
    else state.timer = setTimeout(() => poll(figure, state, seconds), seconds * 1000);
  }

  function scan(root) {
    const figures = [...(root.querySelectorAll ? root.querySelectorAll("figure[data-src]") : [])];
    if (root.matches && root.matches("figure[data-src]")) figures.push(root);
    for (const figure of figures) if (!known.has(figure)) draw(figure, false);
  }

  document.addEventListener("DOMContentLoaded", () => scan(document));
  document.addEventListener("htmx:afterSwap", () => scan(document));
  document.addEventListener("benchsite:theme", function () {
    for (const figure of document.querySelectorAll("figure[data-src]")) if (known.has(figure)) draw(figure, false);
  });
  // For pages that change what a figure shows: set data-src, then send this event to the figure.
  document.addEventListener("benchsite:redraw", (event) => draw(event.target, true));
})();
