// Before a report is published, each of its figures is drawn once as a picture, for previews elsewhere and for readers
// without JavaScript. The form may say <form data-pictures> and each figure <… data-picture="name" data-src="URL">; the
// pictures go along as the fields picture-<name>, base64 PNG. Without them, or when one fails, publishing works too.
(function () {
  "use strict";
  const SIZE = { width: 1200, height: 630, format: "png", scale: 1 }; // what previews elsewhere show
  const MOST_CHARACTERS = 1_500_000; // of all pictures of one form together
  const PATIENCE_MS = 20_000;
  const form = document.querySelector("form[data-pictures]");
  if (!form) return;
  const said = form.querySelector("[data-pictures-said]");
  const buttons = form.querySelectorAll("button:not([type=button])");

  function plotly() {
    if (window.Plotly) return Promise.resolve(window.Plotly);
    return new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = document.querySelector("script[data-plotly]").dataset.plotly;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("The drawing library did not load."));
      document.head.append(script);
    });
  }

  async function drawing(source) {
    const url = new URL(source, location.href);
    url.searchParams.set("theme", "light");
    url.searchParams.set("medium", "slide");
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    return (await answer.json()).figure;
  }

  async function picture(Plotly, source) {
    const figure = await drawing(source);
    if (!figure?.data?.length) return "";
    const layout = { ...figure.layout, autosize: false, paper_bgcolor: "#fff", plot_bgcolor: "#fff" };
    const url = await Plotly.toImage({ data: figure.data, layout }, SIZE);
    return url.slice(url.indexOf(",") + 1);
  }

  async function drawAll(say) {
    const Plotly = await plotly();
    const wanted = [...document.querySelectorAll("[data-picture][data-src]")];
    let drawn = 0, characters = 0;
    for (const one of wanted) {
      say(`Drawing figure ${drawn + 1} of ${wanted.length} …`);
      try {
        const png = await picture(Plotly, one.dataset.src);
        characters += png.length;
        if (!png || characters > MOST_CHARACTERS) continue;
        const field = form.elements[`picture-${one.dataset.picture}`] || document.createElement("input");
        Object.assign(field, { type: "hidden", name: `picture-${one.dataset.picture}`, value: png });
        form.append(field);
        drawn += 1;
      } catch (error) {
        console.info(`No picture of ${one.dataset.picture}: ${error.message}`);
      }
    }
    return `${drawn} of ${wanted.length} figures are ready.`;
  }

  // The button waits for the pictures, but never longer than a person does.
  const say = (text) => said && (said.textContent = text);
  for (const button of buttons) button.disabled = true;
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, "Drawing took too long: published without the other images."));
  Promise.race([drawAll(say), patience])
    .catch(() => "No images could be drawn: the report is published without them.")
    .then(function (text) {
      say(text);
      for (const button of buttons) button.disabled = false;
    });
})();
