// Filters: their forms send themselves, and without empty fields, so that addresses stay short enough to read.
function send(form) {
  const address = new URL(form.action, location.href);
  address.search = "";
  for (const [name, value] of new FormData(form)) if (value) address.searchParams.set(name, value);
  location.assign(address);
}

export function startForms() {
  document.addEventListener("change", ({ target }) => {
    const form = target.form?.closest("[data-auto-submit]");
    if (form) send(form);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-auto-submit], #sheet")) return;
    event.preventDefault();
    send(event.target);
  });
}
