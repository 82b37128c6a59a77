// Runs before the first paint, so that no page flashes in the wrong theme.
(() => {
  let choice = "auto";
  try {
    choice = localStorage.getItem("sl-theme") || "auto";
  } catch {
    // Storage may be forbidden; the system's theme is then the answer.
  }
  const dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.bsTheme = dark ? "dark" : "light";
  document.documentElement.dataset.themeChoice = choice;
})();
