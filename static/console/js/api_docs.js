// Starts the API page: a file of its own, because the content policy allows no inline script.
const root = document.getElementById("api-docs");

function cookie(name) {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/** What the page's own head says already; nothing of Swagger's then stands outside its main element. */
const nothing = () => () => null;
const quiet = () => ({ wrapComponents: { InfoContainer: nothing, SchemesContainer: nothing, ServersContainer: nothing } });

function start() {
  root.replaceChildren();
  root.removeAttribute("role");
  window.SwaggerUIBundle({
    url: root.dataset.schemaUrl,
    domNode: root,
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    syntaxHighlight: false,
    validatorUrl: null,
    plugins: [quiet],
    requestInterceptor: (request) => {
      if (new URL(request.url, location.href).origin === location.origin) request.headers["X-CSRFToken"] = cookie("csrftoken");
      return request;
    },
  });
}

if (window.SwaggerUIBundle) start();
else addEventListener("DOMContentLoaded", start);
