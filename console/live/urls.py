from django.urls import path

from console.live.consumers import LiveConsumer

websocket_urlpatterns = [path("live/", LiveConsumer.as_asgi())]
