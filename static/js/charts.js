// Draws every <figure data-src="URL">. The URL answers JSON:
//   {figure: {data, layout}, caption, table: {columns, rows}, empty?, live?, height?, csv?, json?, md?, tex?}
// `?theme=light|dark` is added, `&narrow=1` below 440 px, `&medium=slide|paper` for downloads. The server chooses every
// colour and size. A figure is fetched when it comes into view, so one in a closed <details> when that is opened.
// With data-menu it shows the server's SVG until the reader reaches for a figure; Plotly is loaded when the page is idle.
(function () {
  "use strict";
  const PLOTLY = document.currentScript.dataset.plotly;
  const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: "reset+autosize", showTips: false };
  // A slide has 1920 × 1080 pixels. A column of 84 mm is 317 CSS pixels; 6.25 device pixels for each make 600 dpi.
  const SIZES = {
    slide: { width: 960, height: 540, scale: 2, title: "1920 × 1080" },
    paper: { width: 317, height: 302, scale: 6.25, title: "One column, 84 mm" },
  };
  const FORMS = { csv: "CSV", json: "JSON", md: "Markdown", tex: "LaTeX" };
  const FIGURES = "figure[data-src]";
  const NARROW_PX = 440;
  const PATIENCE_MS = 500;
  const DRIFT_PX = 6; // of a hand or finger that presses
  const HOVER_MS = 60; // Plotly looks for points every 50 ms
  const NUMBERS = new Intl.NumberFormat("en", { maximumFractionDigits: 12 });
  const known = new WeakMap(); // plot → its state: htmx keeps a plot where it replaces the figure around it
  const built = new WeakSet(); // figures
  const sketches = new WeakMap(); // plot → address of the server's drawing that it shows
  const early = new Map(); // address → drawing or answer that was asked for before its figure was in the page
  let plotly = null, line = Promise.resolve(), foreseen = null, isAwake = false, pressed = null;

  function loadPlotly() {
    plotly ||= new Promise(function (resolve, reject) {
      const script = make("script");
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

  function address(figure, parameters) {
    const url = new URL(figure.dataset.src, location.href);
    for (const name in parameters) url.searchParams.set(name, parameters[name]);
    return url;
  }

  const ask = (url) => fetch(url, { headers: { Accept: "application/json" } });

  function taken(url) {
    const asked = early.get(url);
    early.delete(url);
    return asked;
  }

  async function fetchJson(figure, parameters) {
    const url = address(figure, parameters).href;
    const response = await (taken(url) || ask(url));
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    return response.json();
  }

  function build(figure) {
    built.add(figure);
    const plot = figure.querySelector(".figure__plot") || make("div", "figure__plot");
    if (!figure.classList.contains("figure--spark")) plot.tabIndex = 0;
    const state = known.get(plot) || { plot, timer: 0 };
    if (state.src !== figure.dataset.src) Object.assign(state, { cache: {}, src: figure.dataset.src });
    state.caption = figure.querySelector("figcaption") || make("figcaption");
    state.tools = make("div", "figure__tools");
    // The page has the <details> of a figure with a menu, which may have the focus and so stays where it is.
    const isMenu = "menu" in figure.dataset;
    state.twin = isMenu ? figure.querySelector("details") : make("details", "figure__table");
    if (plot.id) state.twin.id = `${plot.id}-table`;
    if (!isMenu) state.twin.append(make("summary", "", "Details and table"));
    state.conditions = make("dl", "kv kv--fold");
    state.twin.append(state.conditions, make("div", "table-wrap"));
    state.twin.addEventListener("toggle", () => state.twin.open && state.json && fillTable(state));
    figure.querySelector(".figure__fallback")?.remove();
    figure.prepend(plot);
    if (!state.caption.isConnected) plot.after(state.caption);
    if (isMenu) state.twin.firstElementChild.after(state.caption, state.tools);
    else figure.append(state.tools, state.twin);
    if (figure.classList.contains("figure--spark")) state.tools.hidden = state.twin.hidden = true;
    if (known.has(plot)) return state;
    known.set(plot, state);
    new ResizeObserver(() => state.drawn && plot.offsetParent && window.Plotly.Plots.resize(plot)).observe(plot);
    return state;
  }

  function say(state, text, isError) {
    if (state.drawn) window.Plotly.purge(state.plot);
    state.drawn = false;
    const box = make("p", "figure__state" + (isError ? " figure__state--error" : ""), text);
    if (isError) box.setAttribute("role", "alert");
    state.plot.replaceChildren(box);
  }

  // Whether the server's drawing shows all that the page says, in letters that can be read: no hidden sides, no zoom, no
  // runs that are going, no telephone.
  function suffices(figure) {
    const isPlain = !figure.dataset.refresh && !location.hash.includes("=") && figure.clientWidth >= NARROW_PX;
    return "menu" in figure.dataset && isPlain && !isAwake && !known.has(figure.querySelector(".figure__plot"));
  }

  function drawing(src) {
    const image = make("img");
    image.src = src;
    return image;
  }

  // As large as the plot that will take its place, so that nothing moves then.
  function sketchAddress(figure, { clientWidth: width, clientHeight: height }) {
    return address(figure, { theme: window.benchsiteTheme(), as: "svg", width, height }).href;
  }

  // The earlier drawing stays until the next one can be painted. It lies over a plot until that is drawn anew.
  async function sketch(figure) {
    const plot = figure.querySelector(".figure__plot"), src = sketchAddress(figure, plot);
    if (sketches.get(plot) === src) return;
    const image = taken(src) || drawing(src);
    image.alt = figure.dataset.name;
    sketches.set(plot, src);
    await image.decode().catch(() => {});
    if (sketches.get(plot) !== src) return;
    if (known.has(plot)) plot.append(image);
    else plot.replaceChildren(image);
  }

  function cell(tag, value, isNumber) {
    const number = typeof value === "number";
    // As `formatting.cell`.
    const short = number ? NUMBERS.format(Math.abs(value) < 100 ? value.toPrecision(3) : Math.round(value)) : value;
    const element = make(tag, isNumber ? "num" : "", String(short ?? "–").replace(/^-(?=\d)/, "−"));
    if (number) element.title = value;
    return element;
  }

  // Built when it is opened.
  function fillTable(state) {
    const { table, caption } = state.json, wrap = state.twin.lastElementChild;
    state.twin.hidden = !table?.rows.length || state.tools.hidden;
    if (state.twin.hidden || !state.twin.open) return wrap.replaceChildren();
    const numeric = table.columns.map((_, i) => table.rows.some((row) => typeof row[i] === "number"));
    const element = make("table", "table table--dense");
    element.append(make("caption", "sr-only", caption || "The figure's numbers"));
    const head = element.createTHead().insertRow();
    table.columns.forEach(function (column, i) {
      const th = cell("th", column, numeric[i]);
      th.scope = "col";
      head.append(th);
    });
    const body = element.createTBody();
    for (const row of table.rows) body.insertRow().append(...row.map((value, i) => cell("td", value, numeric[i])));
    wrap.replaceChildren(element);
  }

  function fileName(figure, medium, format) {
    const stem = figure.dataset.name || document.title.split("·")[0] + (figure.id || "figure");
    return stem.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") + `-${medium}.${format}`;
  }

  async function picture(figure, medium, format) {
    const { width, height, scale } = SIZES[medium], theme = window.benchsiteTheme();
    const [Plotly, source] = await Promise.all([loadPlotly(), fetchJson(figure, { theme, medium })]);
    // Paper is white whatever theme the reader has.
    const ground = theme === "dark" && medium === "slide" ? "#15181e" : "#fff";
    const layout = { ...source.figure.layout, autosize: false, paper_bgcolor: ground };
    const vector = format === "svg";
    const link = make("a");
    link.href = await Plotly.toImage({ data: source.figure.data, layout }, { width, height, format, scale: vector ? 1 : scale });
    // Millimetres, so that every program places a column at its size.
    if (vector && medium === "paper") link.href = link.href.replace(/width%3D%22317%22/, "width%3D%2284mm%22").replace(/height%3D%22302%22/, "height%3D%2280mm%22");
    link.download = fileName(figure, medium, format);
    link.click();
  }

  function fillTools(figure, state, json) {
    if (state.tools.childElementCount || state.tools.hidden) return;
    for (const medium in SIZES)
      for (const format of ["png", "svg"]) {
        const button = make("button", "", `${medium[0].toUpperCase()}${medium.slice(1)} ${format.toUpperCase()}`);
        button.type = "button";
        button.title = SIZES[medium].title;
        button.onclick = () => picture(figure, medium, format);
        state.tools.append(button);
      }
    for (const form in FORMS) {
      const href = figure.dataset[form] || json[form];
      if (!href) continue;
      const link = make("a", "", FORMS[form]);
      link.href = href;
      link.download = "";
      state.tools.append(link);
    }
  }

  // Zooming into a run's series asks for that part and fills in the form that cuts it; Back brings back all.
  function fill(figure, state) {
    const form = document.querySelector(figure.dataset.fills), src = figure.dataset.src;
    function zoom(part) {
      figure.dataset.src = part ? `${src}?from_s=${part[0]}&to_s=${part[1]}` : src;
      draw(figure, true);
      if (!form) return;
      if (!part) return form.reset();
      form.warmup_s.value = Math.max(part[0] - form.dataset.begin, 0).toFixed(1);
      form.tail_s.value = Math.max(form.dataset.end - part[1], 0).toFixed(1);
    }
    state.plot.on("plotly_relayout", function (event) {
      const from = event["xaxis.range[0]"], to = event["xaxis.range[1]"], all = event["xaxis.autorange"];
      if (from === undefined && !all) return;
      const part = all ? null : [from, to];
      history.pushState({ part }, "");
      zoom(part);
    });
    addEventListener("popstate", function (event) {
      if (!figure.isConnected) return;
      state.views = (state.views || 0) + 1;
      zoom(event.state?.part);
    });
  }

  // The curves and bars that answer to the pointer, with their numbers.
  function pointed(plot) {
    const isPointed = ([trace]) => trace.hovertemplate && Array.isArray(trace.text) && (trace.visible ?? true) === true;
    return plot.data.map((trace, number) => [trace, number]).filter(isPointed);
  }

  // Arrow keys move along a curve, and from curve to curve. Enter is a press on the point, which benchsite:point tells.
  function keyboard(state) {
    const { plot } = state, isNew = !state.live;
    state.live ||= make("p", "sr-only");
    state.live.setAttribute("role", "status");
    plot.append(state.live);
    if (!isNew) return;
    let at = null;
    const tell = (point) => plot.dispatchEvent(new CustomEvent("benchsite:point", { detail: (at = point) }));
    plot.addEventListener("keydown", function (event) {
      const traces = pointed(plot), step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      if (event.key === "Enter" && at) return plot.dispatchEvent(new CustomEvent("benchsite:press", { detail: { point: at } }));
      if (!step || !traces.length) return;
      event.preventDefault();
      const before = traces.findIndex(([trace]) => trace.meta === at?.data.meta && trace.name === at?.data.name);
      // Bars have one point each, so every arrow goes from bar to bar.
      const single = traces.every(([trace]) => trace.text.length === 1);
      const move = single ? [step[0] + step[1], 0] : step;
      const place = before < 0 ? 0 : (before + move[0] + traces.length) % traces.length;
      const [data, curveNumber] = traces[place];
      const pointNumber = before < 0 ? 0 : Math.min(Math.max(at.pointNumber + move[1], 0), data.text.length - 1);
      window.Plotly.Fx.hover(plot, [{ curveNumber, pointNumber }], [(data.xaxis || "x") + (data.yaxis || "y")]);
      state.live.textContent = data.text[pointNumber].replace(/<br>/g, ", ").replace(/<[^>]+>/g, "");
      tell({ data, curveNumber, pointNumber, customdata: data.customdata?.[pointNumber] });
    });
    plot.addEventListener("blur", function () {
      if (state.drawn) window.Plotly.Fx.unhover(plot);
      tell(null);
    });
  }

  async function show(figure, state, json) {
    const drawing = json.figure?.data?.length && window.benchsiteView ? window.benchsiteView(figure, json.figure) : json.figure;
    if (json.caption !== undefined) state.caption.textContent = json.caption;
    state.conditions.replaceChildren(
      ...(json.conditions || []).flatMap(([term, text]) => [make("dt", "", term), make("dd", "", text)]),
    );
    if ("height" in json) figure.style.setProperty("--figure-height", json.height ? json.height + "px" : "");
    state.json = json;
    fillTable(state);
    if (json.empty || !drawing?.data?.length) return say(state, json.empty || "No data yet.");
    const Plotly = await loadPlotly();
    // One by one, each painted before the next is drawn.
    await (line = line.then(() => new Promise((go) => setTimeout(go, 20))));
    if (!state.drawn) state.plot.replaceChildren();
    // A fixed uirevision keeps the reader's zoom while a live figure grows.
    const edits = { shapePosition: !!drawing.layout.shapes?.some((shape) => shape.name) };
    // A copy: Plotly writes zooms into it.
    const layout = structuredClone({ uirevision: `kept ${state.views || 0}`, ...drawing.layout, autosize: true });
    await Plotly.react(state.plot, drawing.data, layout, { ...CONFIG, edits });
    sketches.delete(state.plot);
    for (const image of state.plot.querySelectorAll(":scope > img")) image.remove();
    if (!state.drawn) {
      const isPointed = pointed(state.plot).length > 0, name = figure.dataset.name || json.caption || "Figure";
      state.plot.setAttribute("role", isPointed ? "application" : "img");
      state.plot.setAttribute("aria-label", isPointed ? `${name}. Arrow keys move over the points.` : name);
      if (isPointed) keyboard(state);
      if (figure.dataset.fills) fill(figure, state);
      state.drawn = true;
      figure.ariaBusy = null;
      state.plot.dispatchEvent(new Event("benchsite:drawn", { bubbles: true }));
    }
    fillTools(figure, state, json);
  }

  async function draw(figure, fresh) {
    const state = built.has(figure) ? known.get(figure.querySelector(".figure__plot")) : build(figure);
    const theme = window.benchsiteTheme();
    const turn = (state.turn = (state.turn || 0) + 1);
    clearTimeout(state.timer);
    try {
      loadPlotly().catch(() => {}); // Beside the data; show() waits for it.
      if (fresh || !state.cache[theme]) {
        if (!state.plot.childElementCount) say(state, "Drawing …");
        const json = await fetchJson(figure, figure.clientWidth < NARROW_PX ? { theme, narrow: 1 } : { theme });
        if (fresh) state.cache = {};
        state.cache[theme] = json;
      }
      if (turn !== state.turn || !figure.isConnected) return; // A later request has overtaken this one.
      await show(figure, state, state.cache[theme]);
    } catch (error) {
      if (turn === state.turn && !state.drawn) say(state, `The figure could not be drawn. ${error.message}`, true);
    }
    const seconds = figure.dataset.refresh;
    if (seconds && state.cache[theme]?.live !== false) state.timer = setTimeout(() => poll(figure, state, seconds), seconds * 1000);
  }

  function poll(figure, state, seconds) {
    if (!figure.isConnected) return;
    if (document.visibilityState === "visible") draw(figure, true);
    else state.timer = setTimeout(() => poll(figure, state, seconds), seconds * 1000);
  }

  const view = new IntersectionObserver(
    function (entries) {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        view.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: "1000px" }, // so that a reader who scrolls does not wait
  );

  function scan() {
    for (const figure of document.querySelectorAll(FIGURES)) {
      if (built.has(figure)) continue;
      if (suffices(figure)) sketch(figure);
      // What htmx kept shows what was chosen before, wherever it is.
      else if (known.get(figure.querySelector(".figure__plot"))?.drawn) draw(figure);
      else view.observe(figure);
    }
  }

  // On a turned phone.
  window.matchMedia(`(max-width: ${NARROW_PX + 64}px)`).onchange = function () {
    for (const figure of document.querySelectorAll(FIGURES)) if (built.has(figure)) draw(figure, true);
    scan();
  };

  // Figures are linked, so a reader who reaches for one of them gets all.
  function wake({ target }) {
    const figure = target.closest?.("figure[data-menu]");
    if (!figure || isAwake) return;
    isAwake = true;
    for (const each of document.querySelectorAll("figure[data-menu]")) each.ariaBusy = true;
    draw(figure);
    scan();
  }

  const isWhole = () => innerWidth >= NARROW_PX && !location.hash.includes("=");

  // A menu or a link that changes the drawing alone is answered by the server's drawing; the slower part of the page is
  // asked for when that is there.
  function foresee(name, value) {
    const shown = [];
    for (const figure of document.querySelectorAll("figure[data-menu]:not([data-refresh])")) {
      const url = address(figure, {});
      if (!url.searchParams.has(name)) continue;
      url.searchParams.set(name, value);
      if (name === "op") url.searchParams.delete("with"); // a second operation
      figure.dataset.src = url.pathname + url.search;
      if (isWhole()) shown.push(sketch(figure));
    }
    if (shown.length) foreseen = Promise.race([Promise.all(shown), new Promise((go) => setTimeout(go, PATIENCE_MS))]);
  }

  function chooseOperation(event) {
    const link = event.target.closest?.("[data-op]");
    if (link && !event.ctrlKey && !event.metaKey) foresee("op", link.dataset.op);
  }

  function yieldToDrawing(event) {
    const awaited = foreseen, issue = event.detail.issueRequest;
    if (!awaited || !event.target.closest("#choose, [data-op]")) return;
    event.preventDefault();
    awaited.then(function () {
      if (awaited !== foreseen) return; // a later choice asks for the page
      foreseen = null;
      issue(true);
    });
  }

  // What a menu brings is asked for before htmx has put its figures into the page.
  function hurry({ detail }) {
    early.clear();
    const figures = [...document.querySelectorAll("figure[data-menu]")], held = new Set(figures.map((figure) => figure.dataset.src));
    const plots = figures.map((figure) => figure.querySelector(".figure__plot"));
    for (const [place, [, text]] of [...detail.serverResponse.matchAll(/<figure [^>]*data-src="([^"]+)"[^>]* data-menu/g)].entries()) {
      const figure = { dataset: { src: text.replaceAll("&amp;", "&") } }, theme = window.benchsiteTheme();
      if (held.has(figure.dataset.src) || !plots[place]) continue;
      const sketched = sketchAddress(figure, plots[place]), drawn = address(figure, { theme }).href;
      if (!isAwake && isWhole()) early.set(sketched, drawing(sketched));
      else if (innerWidth >= NARROW_PX) early.set(drawn, ask(drawn));
    }
  }

  // A press of a hand on a point is the event benchsite:press of its plot. Plotly's own clicks are not: it takes a move of
  // one pixel for a drag, so that smaller moves are kept from it, and forgets the point below a pointer that is held down
  // (its cover lies over the plot). So it is asked again when the mouse is up, and what it finds first counts: a redraw
  // may lose it afterwards.
  const drift = ({ clientX, clientY }) => Math.hypot(clientX - pressed.clientX, clientY - pressed.clientY);

  function release(event) {
    const layer = pressed?.target, plot = layer?.closest(".js-plotly-plot"), byTouch = event.pointerType === "touch";
    const isPress = plot && layer.matches(".nsewdrag") && !event.button && drift(event) < DRIFT_PX;
    pressed = null;
    if (!isPress) return;
    setTimeout(() => find(plot, layer, event, (point) => plot.dispatchEvent(new CustomEvent("benchsite:press", { detail: { point, byTouch } }))));
  }

  function find(plot, layer, { clientX, clientY }, then) {
    let point = null;
    const note = ({ points }) => (point ??= points[0]);
    plot.on("plotly_hover", note);
    window.Plotly.Fx.hover(plot, { clientX, clientY, target: layer }, layer.dataset.subplot);
    setTimeout(function () {
      plot.removeListener("plotly_hover", note);
      point ??= plot._hoverdata?.[0];
      if (point) then(point);
    }, HOVER_MS);
  }

  document.addEventListener("pointerdown", (event) => (pressed = event.target.closest?.(".js-plotly-plot") ? event : null), true);
  document.addEventListener("pointerup", release, true);
  document.addEventListener("pointercancel", () => (pressed = null), true);
  for (const type of ["mousemove", "touchmove"])
    document.addEventListener(type, (event) => pressed && drift(event.touches?.[0] || event) < DRIFT_PX && event.stopPropagation(), true);
  for (const type of ["pointerover", "focusin"]) document.addEventListener(type, wake);
  // Before htmx takes its time to ask for the page.
  document.addEventListener("change", ({ target }) => target.form?.id === "choose" && foresee(target.name, target.value), true);
  document.addEventListener("click", chooseOperation, true);
  document.addEventListener("htmx:confirm", yieldToDrawing);
  document.addEventListener("htmx:beforeSwap", hurry);
  document.addEventListener("DOMContentLoaded", scan);
  // So that the first figure that is reached for need not wait for the library.
  addEventListener("load", () => requestIdleCallback(() => document.querySelector(FIGURES) && loadPlotly().catch(() => {})));
  document.addEventListener("htmx:afterSwap", scan);
  document.addEventListener("benchsite:theme", function () {
    for (const figure of document.querySelectorAll(FIGURES)) if (built.has(figure)) draw(figure);
    if (document.readyState !== "loading") scan();
  });
  // For pages that change what a figure shows: set data-src, then send this event to the figure.
  document.addEventListener("benchsite:redraw", (event) => draw(event.target, true));
})();
