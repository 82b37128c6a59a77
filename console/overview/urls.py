from django.urls import path

from console.overview import views

urlpatterns = [
    path("", views.fleet, name="fleet"),
]
