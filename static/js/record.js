// The form of a workload: the size of a record, while its parts are typed; the size itself sets the length of the fields.
// A preset changes the mix and the distributions, and a name only where that is of the preset before.
(function () {
  "use strict";
  const UNITS = { "": 1, b: 1, k: 1e3, kb: 1e3, kib: 1024, m: 1e6, mb: 1e6, mib: 1024 ** 2 };
  function record(set, typed) {
    const [size, count, length] = ["recordsize", "fieldcount", "fieldlength"].map((name) => set.querySelector(`[name=${name}]`));
    const [, number, unit] = size.value.trim().match(/^([\d.]+)\s*([a-z]*)$/i) ?? [];
    const bytes = number * UNITS[unit?.toLowerCase()];
    if (typed === length) size.value = "";
    else if (bytes && bytes % count.value === 0) length.value = bytes / count.value;
    const whole = String(count.value * length.value).replace(/\B(?=(\d{3})+$)/g, ",");
    set.querySelector("output").textContent = `${count.value} × ${length.value} B = ${whole} B`;
  }
  function fill(link) {
    const links = [...link.parentNode.children];
    const [before, after] = [links.find((other) => other.ariaCurrent), link].map((each) => JSON.parse(each.dataset.preset));
    const form = document.querySelector("form:has([name=short_name])");
    const lines = form.elements.properties.value.split("\n").filter((line) => line.trim());
    for (const name of Object.keys({ ...before, ...after })) {
      const field = form.elements[name];
      const place = lines.findIndex((line) => line.split("=")[0].trim() === name);
      if (/name$/.test(name)) field.value = field.value === before[name] ? after[name] : field.value;
      else if (field) field.value = name.endsWith("proportion") ? Math.round(after[name] * 1e8) / 1e6 : after[name];
      else if (name in after) lines.splice(place < 0 ? lines.length : place, 1, `${name}=${after[name]}`);
      else if (lines[place] === `${name}=${before[name]}`) lines.splice(place, 1);
      field?.dispatchEvent(new Event("input", { bubbles: true }));
    }
    form.elements.properties.value = lines.join("\n");
    for (const other of links) other.ariaCurrent = other === link ? "true" : null;
    link.closest("nav").querySelector("output").textContent = link.title;
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-preset]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    fill(link);
  });
  document.addEventListener("input", (event) => event.target.closest("[data-record]") && record(event.target.closest("[data-record]"), event.target));
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-record]").forEach((set) => record(set)));
})();
