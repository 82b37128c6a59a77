// Time left to decide, m:ss, by the server's clock.
import { serverNow } from "./ages.js";

export function left(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function tick() {
  for (const badge of document.querySelectorAll("[data-countdown]")) {
    badge.querySelector("[data-countdown-text]").textContent = left(Number(badge.dataset.countdown) - serverNow() / 1000);
  }
}

setInterval(tick, 1000);
tick();
