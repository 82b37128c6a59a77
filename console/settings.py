"""Settings, all from the environment; see docs/operations.md for the list of variables."""

from pathlib import Path
from typing import Any

import drf_spectacular_sidecar
import environ
import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from console.oncall.mailers import mailers

ROOT = Path(__file__).resolve().parent.parent
env = environ.Env()

DEMO = env.bool("SLACKLINE_DEMO", default=False)
DATA_DIR = Path(env.str("SLACKLINE_DATA_DIR", default=str(ROOT / "var"))).resolve()
DATA_DIR.mkdir(parents=True, exist_ok=True)

# --- what is refused outside the demo -------------------------------------------------------------------------------
DEFAULT_SECRET_KEY = "insecure-key-of-the-demo-which-everybody-can-read-in-the-source"
LEAST_SECRET_KEY = 32  # characters; what is shorter can be guessed
SECRET_KEY = env.str("SECRET_KEY", default=DEFAULT_SECRET_KEY)
DEBUG = env.bool("DEBUG", default=False)
ALLOW_SIMULATED = env.bool("SLACKLINE_ALLOW_SIMULATED", default=False)
KNOWN_CONNECTORS = ("file", "openb", "simulated", "kubernetes")  # of connectors.choices.Kind; a test compares
CONNECTORS = env.list("SLACKLINE_CONNECTORS", default=["file", "openb", "kubernetes", *(["simulated"] if DEMO else [])])
# Texts from which the keys that encrypt credentials of clusters are made; the first one seals, all of them open.
CREDENTIALS_KEYS = env.list("SLACKLINE_CREDENTIALS_KEYS", default=[SECRET_KEY] if DEMO else [])
# What a kubeconfig may ask for beside a token or a certificate; words of connectors.kubernetes.access.ALLOWABLE.
KUBECONFIG_ALLOW = frozenset(env.list("SLACKLINE_KUBECONFIG_ALLOW", default=[]))


def _refuse_unknown_connectors() -> None:
    unknown = [name for name in CONNECTORS if name not in KNOWN_CONNECTORS]
    if unknown:
        raise ImproperlyConfigured(
            f"SLACKLINE_CONNECTORS names {', '.join(map(repr, unknown))}, which is no kind of source. "
            f"The kinds are {', '.join(KNOWN_CONNECTORS)}, with commas between them."
        )


def _refuse_unsafe_start() -> None:
    if DEMO:
        return
    if DEBUG and not env.bool("SLACKLINE_ALLOW_DEBUG", default=False):
        raise ImproperlyConfigured(
            "DEBUG is on outside the demo: it shows settings and source to every visitor. "
            "Unset DEBUG, or set SLACKLINE_ALLOW_DEBUG=1 on a machine that nobody else reaches."
        )
    if SECRET_KEY == DEFAULT_SECRET_KEY and not env.bool("SLACKLINE_ALLOW_DEFAULT_KEY", default=False):
        raise ImproperlyConfigured(
            "SECRET_KEY is not set: sessions signed with the key of the demo can be forged by anybody. "
            "Set SECRET_KEY to a long random text, or SLACKLINE_DEMO=1 to run the demo."
        )
    if len(SECRET_KEY) < LEAST_SECRET_KEY:
        raise ImproperlyConfigured(
            f"SECRET_KEY has {len(SECRET_KEY)} characters: sessions signed with so short a key can be forged. "
            f"Set it to a random text of {LEAST_SECRET_KEY} characters or more."
        )
    if "simulated" in CONNECTORS and not ALLOW_SIMULATED:
        raise ImproperlyConfigured(
            "SLACKLINE_CONNECTORS names the simulated cluster outside the demo: its pods and nodes are invented. "
            "Take it out, or set SLACKLINE_ALLOW_SIMULATED=1."
        )


_refuse_unknown_connectors()
_refuse_unsafe_start()

# --- applications ---------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "channels",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "drf_standardized_errors",
    "django_filters",
    "django_tables2",
    "django_htmx",
    "crispy_forms",
    "crispy_bootstrap5",
    "axes",
    "django_structlog",
    "console.dispatch",
    "console.ui",
    "console.rest",
    "console.live",
    "console.audit",
    "console.connectors",
    "console.tenancy",
    "console.inventory",
    "console.policies",
    "console.plans",
    "console.automation",
    "console.standby",
    "console.prices",
    "console.consolidation",
    "console.placement",
    "console.queue",
    "console.spot",
    "console.simulation",
    "console.routines",
    "console.campaigns",
    "console.oncall",
    "console.overview",
    "console.demo",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.rest.middleware.RefusalMiddleware",
    "console.rest.described.UnnamedMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.ui.context.page",
            ]
        },
    }
]
FORM_RENDERER = "django.forms.renderers.DjangoTemplates"
CRISPY_ALLOWED_TEMPLATE_PACKS = CRISPY_TEMPLATE_PACK = "bootstrap5"
DJANGO_TABLES2_TEMPLATE = "django_tables2/bootstrap5.html"

# --- rows -----------------------------------------------------------------------------------------------------------
DATABASES: dict[str, Any] = {"default": env.db("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'slackline.sqlite3'}")}
_database = DATABASES["default"]
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE takes the write lock as a transaction begins, where waiting helps; asked for later it fails at once.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
    }
elif (_kept := env.int("DATABASE_POOL", default=0)) > 0:
    _database["OPTIONS"] = {**_database.get("OPTIONS", {}), "pool": {"min_size": 1, "max_size": _kept}}
# Under ASGI each request has a thread of its own: a connection kept for it would serve nobody else, and pile up.
_database["CONN_MAX_AGE"] = 0

# --- wires ----------------------------------------------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")
LIVE_PREFIX = env.str("SLACKLINE_LIVE_PREFIX", default="slackline")
CHANNEL_LAYERS = {
    "default": {
        # The core layer drops messages beyond its capacity and does not survive a restart of Redis; this one does.
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": LIVE_PREFIX},
    }
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600, "socket_timeout": 30, "socket_connect_timeout": 5}
# A request must not hang for as long as a broker is away; what was not sent is found by the sweep.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2, "interval_max": 0.5}
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")

# --- calls to people ------------------------------------------------------------------------------------------------
# Where people reach this console, for links in messages, such as https://slackline.example.org.
PUBLIC_URL = env.str("SLACKLINE_URL", default="").rstrip("/")
# In the demo mails become files: nothing leaves the machine.
MAILERS = mailers(env.str("EMAIL_URL", default=""), DATA_DIR / "mail" if DEMO else None)
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="slackline@localhost")
SILENCED_SYSTEM_CHECKS = ["mail.W001"]  # no mailer: said under On call, with the name of the variable
WEBHOOK_HOSTS = frozenset(name.strip().lower() for name in env.list("SLACKLINE_WEBHOOK_HOSTS", default=[]))

# --- memory ---------------------------------------------------------------------------------------------------------
# Beyond the latest readings of each source: (seconds of a slot of which the last reading stays, seconds that it stays).
KEPT_READINGS = (
    (600, env.int("SLACKLINE_KEEP_10_MIN_HOURS", default=24) * 3600),
    (3600, env.int("SLACKLINE_KEEP_HOURLY_DAYS", default=7) * 86400),
)

# --- people ---------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "tenancy.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "console.tenancy.backend.RoleBackend"]
PASSWORD_HASHERS = [f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("Scrypt", "PBKDF2")]
_VALIDATORS = ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
AUTH_PASSWORD_VALIDATORS = [{"NAME": f"django.contrib.auth.password_validation.{name}"} for name in _VALIDATORS]
LOGIN_URL = "tenancy:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "tenancy:login"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False
AXES_LOCKOUT_TEMPLATE = "tenancy/locked_out.html"

# --- safety ---------------------------------------------------------------------------------------------------------
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("SECURE_COOKIES", default=not DEMO)
SESSION_COOKIE_AGE = 12 * 3600
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if env.bool("BEHIND_TLS_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# --- language, time, files ------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("SLACKLINE_STATIC_ROOT", default=str(ROOT / "staticfiles")))
_SWAGGER = "drf_spectacular_sidecar/swagger-ui-dist"
STATICFILES_DIRS = [
    ROOT / "static",
    (_SWAGGER, str(Path(drf_spectacular_sidecar.__file__).parent / "static" / _SWAGGER)),
]
# No finder for the folders of applications: what they bring besides is 30 MB that no page uses.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder", "console.ui.finders.NpmFinder"]
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("png", "woff", "woff2", "ttf", "map", "html", "txt")
NPM_ROOT = ROOT / "node_modules"
NPM_FILES = {
    "htmx.org": ["dist/htmx.min.js"],
    "plotly.js-cartesian-dist-min": ["plotly-cartesian.min.js", "plotly.css"],
    "@tabler/core": ["dist/css/tabler.min.css*"],
    "@fontsource-variable/inter": ["index.css", "files/*"],
}
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "console.ui.storage.StaticStorage"},
}

# --- API ------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "console.rest.pagination.CursorPages",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_standardized_errors.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.ScopedRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"login": "10/min", "plans": "60/min"},
    "EXCEPTION_HANDLER": "drf_standardized_errors.handler.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
DRF_STANDARDIZED_ERRORS = {
    "EXCEPTION_HANDLER_CLASS": "console.rest.errors.Handler",
    "EXCEPTION_FORMATTER_CLASS": "console.rest.errors.Formatter",
    "ERROR_SCHEMAS": {
        "400": "console.rest.serializers.RefusalSerializer",
        "409": "console.rest.serializers.ConflictSerializer",
    },
    "ALLOWED_ERROR_STATUS_CODES": ["400", "401", "403", "404", "409", "415", "429"],
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Slackline",
    "VERSION": "v1",
    "DESCRIPTION": "Observe a shared GPU fleet, plan its consolidation, approve and run plans.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "PATH_CONVERTER_OVERRIDES": {"row": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}},
    "GET_MOCK_REQUEST": "console.rest.schema.mock_request",
    "ENUM_NAME_OVERRIDES": {
        "PolicyScopeEnum": "console.policies.choices.Scope",
        "PlacementTier": "console.placement.choices.Tier",
        "PlanKind": "console.plans.choices.Kind",
        "AlertKind": "console.oncall.choices.Kind",
        "RotaScope": "console.oncall.choices.Scope",
        "RoutineKind": "console.routines.choices.Kind",
        "CampaignStateEnum": "console.campaigns.choices.State",
        "CampaignGroupStateEnum": "console.campaigns.choices.GroupState",
        "PlanState": "console.plans.choices.State",
        "PriceProposalState": "console.prices.choices.State",
        "StepState": "console.plans.choices.StepState",
        "LeaseState": "console.spot.choices.State",
        "StudyState": "console.simulation.choices.StudyState",
        "StudyRunState": "console.simulation.choices.RunState",
        "StudyTraceState": "console.simulation.choices.TraceState",
        "StudyTraceKind": "console.simulation.choices.TraceKind",
        "SourceKind": "console.inventory.choices.SourceKind",
        "UploadKind": "console.inventory.choices.UploadKind",
        "UploadState": "console.inventory.choices.UploadState",
        "ValidationErrorEnum": "drf_standardized_errors.openapi_serializers.ValidationErrorEnum.choices",
        "ClientErrorEnum": "drf_standardized_errors.openapi_serializers.ClientErrorEnum.choices",
        "ServerErrorEnum": "drf_standardized_errors.openapi_serializers.ServerErrorEnum.choices",
        **{
            f"ErrorCode{code}Enum": f"drf_standardized_errors.openapi_serializers.ErrorCode{code}Enum.choices"
            for code in (401, 403, 404, 405, 406, 415, 429, 500)
        },
    },
    "POSTPROCESSING_HOOKS": ["drf_standardized_errors.openapi_hooks.postprocess_schema_enums"],
}
REST_KNOX = {"AUTO_REFRESH": False}

# --- logs -----------------------------------------------------------------------------------------------------------
LOG_FORMAT = env.str("LOG_FORMAT", default="console" if DEMO else "json")
_shared: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]
_renderer: Any = (
    structlog.dev.ConsoleRenderer(colors=False) if LOG_FORMAT == "console" else structlog.processors.JSONRenderer()
)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _shared,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _renderer,
            ],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO")},
    # A tick that expired while workers were busy is no news; a task that failed is.
    "loggers": {
        "axes": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "django_structlog.celery.receivers": {"level": "ERROR"},
    },
}
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.filter_by_level,
        *_shared[1:],
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
