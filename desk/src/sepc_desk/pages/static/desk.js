// Single keys press the button that names them, unless something is being typed or keys are switched off.
document.addEventListener("keydown", (event) => {
  if (!("shortcuts" in document.body.dataset) || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button) {
    event.preventDefault();
    button.click();
  }
});

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.hasAttribute("hx-post")) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));

// What was changed to see what would follow is marked.
document.addEventListener("input", () => document.querySelectorAll("#what-if input[name^='value:']").forEach((field) =>
  field.classList.toggle("changed", field.value !== field.defaultValue)));

// After the fields are back at the values of the case, let the outcome follow.
document.addEventListener("reset", (event) =>
  setTimeout(() => event.target.dispatchEvent(new Event("input", { bubbles: true }))));

document.documentElement.classList.add("script");
