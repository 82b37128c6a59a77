// Spot capacity: countdowns of notices by the server's clock, and the words of the button that asks.
import { serverNow } from "./ages.js";
import { left } from "./countdown.js";

const SAID_AT = [30, 10];
const said = new Map();

function tick() {
  const now = serverNow() / 1000;
  for (const box of document.querySelectorAll("[data-notice]")) {
    const rest = Number(box.dataset.until) - now;
    const text = box.querySelector("[data-left]");
    if (text) text.textContent = left(rest);
    const gone = box.querySelector("[data-gone-of]");
    if (gone) {
      const whole = Math.max(1, Number(box.dataset.until) - Number(box.dataset.from));
      const share = Math.min(1, Math.max(0, (now - Number(box.dataset.from)) / whole));
      gone.setAttribute("width", (Number(gone.dataset.goneOf) * share).toFixed(1));
    }
    if (box.dataset.say) announce(box.dataset.say, rest);
  }
}

// A screen reader hears the start (the banner itself), 30 s and 10 s, each once.
function announce(name, rest) {
  for (const at of SAID_AT) {
    const key = `${name} ${at}`;
    if (rest > at || rest < at - 5 || said.has(key)) continue;
    said.set(key, true);
    const place = document.getElementById("sl-said");
    if (place) place.textContent = `${name}: ${at} seconds to hand over.`;
  }
}

function name(form) {
  const button = form.querySelector("[data-ask-button]");
  const gpus = Number(form.elements.gpus_per_pod?.value) * Number(form.elements.pods?.value);
  const model = form.elements.model?.value;
  if (button && Number.isInteger(gpus) && gpus > 0 && model) {
    button.textContent = `Ask for ${gpus.toLocaleString("en")} ${model}`;
  }
}

const form = document.querySelector("[data-ask]");
if (form) {
  form.addEventListener("input", () => name(form));
  name(form);
}
setInterval(tick, 1000);
tick();
