from django.urls import path

from console.ui import views

app_name = "ui"
urlpatterns = [
    path("palette/", views.palette, name="palette"),
    path("frame/<str:part>", views.frame, name="frame"),
    path("api/docs/", views.api_docs, name="api-docs"),
]
