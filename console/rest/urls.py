from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from console.rest import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("metrics", views.metrics, name="metrics"),
]
api_urlpatterns = [path("schema/", SpectacularAPIView.as_view(), name="schema")]
