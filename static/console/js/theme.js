// Light, dark or as the system says; kept in this browser, told to charts by the event "sl:theme".
const KEY = "sl-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  return document.documentElement.dataset.themeChoice || "auto";
}

function resolved(choice) {
  if (choice === "auto") return system.matches ? "dark" : "light";
  return choice;
}

function mark() {
  for (const button of document.querySelectorAll("[data-theme-switch] [data-theme]")) {
    const on = button.dataset.theme === remembered();
    button.setAttribute("aria-checked", String(on));
    button.tabIndex = on ? 0 : -1;
  }
}

function apply(choice) {
  const root = document.documentElement;
  root.dataset.themeChoice = choice;
  const theme = resolved(choice);
  const changed = root.dataset.bsTheme !== theme;
  root.dataset.bsTheme = theme;
  mark();
  if (changed) document.dispatchEvent(new CustomEvent("sl:theme", { detail: { theme } }));
}

export function choose(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // The choice then lasts as long as the page.
  }
  apply(choice);
}

export function currentChoice() {
  return remembered();
}

/** Arrow keys walk through a radio group of buttons, as they do in native ones. */
export function walkRadios(group, onChoose) {
  group.addEventListener("click", (event) => {
    const button = event.target.closest("[role=radio]");
    if (button) onChoose(button);
  });
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...group.querySelectorAll("[role=radio]")];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    onChoose(next);
  });
}

export function startTheme() {
  for (const group of document.querySelectorAll("[data-theme-switch]")) {
    walkRadios(group, (button) => choose(button.dataset.theme));
  }
  system.addEventListener("change", () => apply(remembered()));
  apply(remembered());
}
