// A frozen report: printed as it should be on paper, and drawn by itself where it is a file without a server.
// There, #drawings holds {figure name: {light, dark, "light-narrow", "dark-narrow"}}; elsewhere charts.js draws.
(function () {
  "use strict";
  const PAPER = 680; // CSS pixels between the margins of an A4 page
  const DRAWN = 900; // on which figures are drawn for it, so that nothing of them is cut
  const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: "reset+autosize", showTips: false };
  const SLIDE = { width: 960, height: 540, scale: 2 };
  const inside = document.getElementById("drawings");
  const drawings = inside ? JSON.parse(inside.textContent) : null;
  const figures = () => document.querySelectorAll("figure[data-name]");
  const plotOf = (figure) => figure.querySelector(".figure__plot");
  const light = new Map(); // figure → its light drawing, for paper

  function drawingOf(figure, theme) {
    const known = drawings[figure.dataset.name];
    const narrow = figure.clientWidth < 560 ? "-narrow" : "";
    return known && (known[theme + narrow] || known[theme]);
  }

  // Plotly fails in a plot without a width, as in a hidden frame.
  const hidden = new ResizeObserver((entries) => entries.forEach(({ target }) => drawAlone(target.closest("figure"))));

  async function drawAlone(figure) {
    const plot = plotOf(figure), theme = window.benchsiteTheme(), drawing = drawingOf(figure, theme);
    if (!drawing) return;
    if (!plot.clientWidth) return hidden.observe(plot);
    hidden.unobserve(plot);
    if (!plot.data) plot.replaceChildren(); // the picture that stood there
    await window.Plotly.react(plot, drawing.data, { ...drawing.layout, autosize: true }, CONFIG);
    plot.tabIndex = 0;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", figure.querySelector("figcaption").textContent || "Figure");
    if (!figure.querySelector(".figure__tools")) figure.append(tools(figure));
  }

  function tools(figure) {
    const box = document.createElement("div");
    box.className = "figure__tools";
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.onclick = async function () {
        const drawing = drawings[figure.dataset.name][window.benchsiteTheme()] || drawingOf(figure, "light");
        const dark = window.benchsiteTheme() === "dark";
        const layout = { ...drawing.layout, autosize: false, paper_bgcolor: dark ? "#15181e" : "#fff" };
        const link = document.createElement("a");
        link.href = await window.Plotly.toImage({ data: drawing.data, layout }, { ...SLIDE, format });
        link.download = `${figure.dataset.name}.${format}`;
        link.click();
      };
      box.append(button);
    }
    return box;
  }

  if (drawings) {
    let narrow = null;
    const drawAll = () => figures().forEach(drawAlone);
    document.addEventListener("benchsite:theme", drawAll);
    addEventListener("resize", function () {
      const now = innerWidth < 640;
      if (now !== narrow) drawAll();
      else for (const plot of [...figures()].map(plotOf)) if (plot.data && plot.clientWidth) window.Plotly.Plots.resize(plot);
      narrow = now;
    });
    narrow = innerWidth < 640;
    drawAll();
  }

  // Paper is white: a reader in the dark gets the light drawings at hand before he prints.
  async function fetchLight() {
    if (drawings || window.benchsiteTheme() === "light") return;
    for (const figure of figures()) {
      if (!figure.dataset.src || light.has(figure)) continue;
      const answer = await fetch(`${figure.dataset.src}?theme=light`);
      if (answer.ok) light.set(figure, (await answer.json()).figure);
    }
  }

  // All of it at once, without waiting for anything: the browser takes the page as it is when this returns.
  function forPaper() {
    for (const fold of document.querySelectorAll(".report details.more")) {
      fold.dataset.was = fold.open ? "open" : "";
      fold.open = true;
    }
    for (const figure of figures()) {
      const plot = plotOf(figure);
      if (!plot.data) continue;
      const drawing = drawings ? drawings[figure.dataset.name].light : light.get(figure) || plot;
      const height = plot.clientHeight;
      window.Plotly.react(plot, drawing.data, { ...drawing.layout, autosize: false, width: DRAWN, height }, CONFIG);
      plot.style.zoom = PAPER / DRAWN;
    }
  }

  function forScreen() {
    for (const fold of document.querySelectorAll(".report details.more")) fold.open = fold.dataset.was === "open";
    for (const figure of figures()) {
      if (!plotOf(figure).data) continue;
      plotOf(figure).style.zoom = "";
      if (drawings) drawAlone(figure);
      else figure.dispatchEvent(new Event("benchsite:redraw", { bubbles: true }));
    }
  }

  addEventListener("beforeprint", forPaper);
  addEventListener("afterprint", forScreen);
  addEventListener("load", () => setTimeout(fetchLight, 1500));
  document.addEventListener("benchsite:theme", fetchLight);
  for (const button of document.querySelectorAll("[data-print]")) {
    button.hidden = false;
    button.onclick = async () => (await fetchLight(), window.print());
  }
})();
