// The vendored interface knows a dark mode by a class of its own.
(function () {
  "use strict";
  const paint = () => document.documentElement.classList.toggle("dark-mode", window.benchsiteTheme() === "dark");
  document.addEventListener("benchsite:theme", paint);
  paint();
})();
