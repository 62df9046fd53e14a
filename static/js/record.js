// The form of a workload: the size of a record, while its parts are typed; the size itself sets the length of the fields.
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
  document.addEventListener("input", (event) => event.target.closest("[data-record]") && record(event.target.closest("[data-record]"), event.target));
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-record]").forEach((set) => record(set)));
})();
