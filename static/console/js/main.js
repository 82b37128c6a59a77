// The one entry of every page. Page modules import what they need from the same files, so there is one of each.
import { startAges, tickAll } from "./ages.js";
import { startDialogs } from "./dialogs.js";
import { startLive } from "./live.js";
import { startPalette } from "./palette.js";
import { startTheme } from "./theme.js";

startTheme();
startAges();
startLive();
startPalette();
startDialogs();
document.addEventListener("htmx:after:swap", tickAll);
