from django.urls import path

from console.audit import api, views

urlpatterns = [
    path("audit/", views.entry_list, name="list"),
    path("audit/entries.csv", views.entry_csv, name="csv"),
]
api_urlpatterns = [path("audit/entries/", api.EntryList.as_view(), name="audit-entries")]
