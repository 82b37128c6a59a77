"""HTTP goes to Django, or to memory for maps sent before; WebSockets to the live consumer behind origin and session."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
http = get_asgi_application()  # loads the apps; the consumer below needs them

from console.inventory.repeats import Repeats  # noqa: E402
from console.live.urls import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Repeats(http),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
