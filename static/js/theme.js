// Light, dark or as the system has it. Loaded before the page is painted, so that no flash of the other theme is seen.
(function () {
  "use strict";
  const KEY = "benchsite-theme";
  const root = document.documentElement;

  function chosen() {
    try {
      const kept = localStorage.getItem(KEY);
      return kept === "light" || kept === "dark" ? kept : "auto";
    } catch {
      return "auto"; // Storage can be forbidden; the system's theme is then the only choice.
    }
  }

  function apply(choice) {
    if (choice === "auto") root.removeAttribute("data-theme");
    else root.dataset.theme = choice;
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    }
    document.dispatchEvent(new CustomEvent("benchsite:theme"));
  }

  apply(chosen());

  document.addEventListener("DOMContentLoaded", function () {
    const switcher = document.querySelector(".themes");
    if (!switcher) return;
    switcher.hidden = false; // Without JavaScript the switch could do nothing, so it stays hidden.
    apply(chosen());
    switcher.addEventListener("click", function (event) {
      const button = event.target.closest("[data-theme-choice]");
      if (!button) return;
      try {
        localStorage.setItem(KEY, button.dataset.themeChoice);
      } catch {
        // The choice then lasts for this page only.
      }
      apply(button.dataset.themeChoice);
    });
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
    document.dispatchEvent(new CustomEvent("benchsite:theme"));
  });

  window.benchsiteTheme = function () {
    if (root.dataset.theme) return root.dataset.theme;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  };
})();
