// The form of an import: files that are dropped, and folders.
(function () {
  "use strict";
  // Files dropped on a form join those that were chosen before.
  function chosen(form, more = []) {
    const input = form.querySelector("[type=file]");
    const all = new DataTransfer();
    let size = 0;
    for (const file of [...input.files, ...more]) all.items.add(file), (size += file.size);
    input.files = all.files;
    input.setCustomValidity(size > form.dataset.most ? "Too large together: compress them, or import fewer." : "");
    const name = (file) => file.webkitRelativePath || file.name;
    const names = [...all.files].map((file) => Object.assign(document.createElement("li"), { textContent: name(file) }));
    form.querySelector("ul").replaceChildren(...names);
  }

  document.querySelectorAll("[data-drop] [hidden]").forEach((folder) => (folder.hidden = false));
  for (const type of ["dragover", "drop"])
    document.addEventListener(type, function (event) {
      const form = event.target.closest("[data-drop]");
      if (!form) return;
      event.preventDefault();
      if (type === "drop") chosen(form, event.dataTransfer.files);
    });

  document.addEventListener("change", function ({ target }) {
    if (target.closest("[data-drop]")) chosen(target.form, target.matches("[webkitdirectory]") ? target.files : []);
  });
})();
