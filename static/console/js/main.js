// The one entry of every page. Page modules take what they need from the same files, so there is one of each.
import { startAges, tickAll } from "./ages.js";
import { startDialogs } from "./dialogs.js";
import { startForms } from "./forms.js";
import { startLive } from "./live.js";
import { startPalette } from "./palette.js";
import { startTheme } from "./theme.js";

startTheme();
startAges();
startLive();
startPalette();
startDialogs();
startForms();

/** Opened details stay open when the part that holds them is fetched anew. */
const opened = new Set();
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.matches?.("details[id]")) return;
    if (target.open) opened.add(target.id);
    else opened.delete(target.id);
  },
  true,
);
document.addEventListener("htmx:before:swap", () => {
  for (const id of [...opened]) if (!document.getElementById(id)) opened.delete(id);
});
document.addEventListener("htmx:after:swap", () => {
  tickAll();
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});
