// Dialogs, menus and the single-key shortcuts, which can be switched off (WCAG 2.1.4).
import { isPaused, setPaused } from "./live.js";
import { openPalette } from "./palette.js";

const KEY = "sl-single-keys";

function singleKeys() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

export function open(id) {
  const dialog = document.getElementById(id);
  if (!dialog) return;
  for (const other of document.querySelectorAll("dialog[open]")) other.close();
  if (id === "sl-palette") openPalette(dialog);
  else dialog.showModal();
}

function isTyping(target) {
  return target.closest?.("input, select, textarea, [contenteditable]") !== null;
}

function press(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open("sl-palette");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !singleKeys()) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "?") open("sl-help");
  else if (event.key === "/") open("sl-palette");
  else if (event.key === "p") setPaused(!isPaused());
  else return;
  event.preventDefault();
}

function click(event) {
  const opener = event.target.closest("[data-open]");
  if (opener) open(opener.dataset.open);
  if (event.target.closest("[data-close]")) event.target.closest("dialog")?.close();
  if (event.target.matches?.("dialog[open]")) event.target.close();
  for (const menu of document.querySelectorAll("details.sl-menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
}

export function startDialogs() {
  document.addEventListener("keydown", press);
  document.addEventListener("click", click);
  const box = document.querySelector("[data-single-keys]");
  if (!box) return;
  box.checked = singleKeys();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(KEY, box.checked ? "on" : "off");
    } catch {
      box.checked = true;
    }
  });
}
