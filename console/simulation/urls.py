from django.urls import path

from console.simulation import api, views

urlpatterns = [
    path("simulation/", views.studies, name="list"),
    path("simulation/new/", views.new, name="new"),
    path("simulation/traces/", views.traces, name="traces"),
    path("simulation/traces/upload", views.upload, name="upload"),
    path("simulation/traces/record", views.record, name="record"),
    path("simulation/traces/<row:trace_id>/delete", views.delete_trace, name="delete-trace"),
    path("simulation/estimate", views.estimate, name="estimate"),
    path("simulation/<row:study_id>/", views.study, name="study"),
    path("simulation/<row:study_id>/trade-off/", views.trade_off, name="trade-off"),
    path("simulation/<row:study_id>/cancel", views.cancel, name="cancel"),
    path("simulation/<row:study_id>/delete", views.delete, name="delete"),
    path("simulation/<row:study_id>/report.json", views.report, name="report"),
    path("simulation/<row:study_id>/figures.csv", views.figures_csv, name="csv"),
]
api_urlpatterns = [
    path("studies/", api.Studies.as_view(), name="studies"),
    path("studies/traces/", api.StudyTraces.as_view(), name="study-traces"),
    path("studies/traces/files/", api.StudyTraceFiles.as_view(), name="study-trace-files"),
    path("studies/traces/<row:trace_id>/", api.StudyTrace.as_view(), name="study-trace"),
    path("studies/<row:study_id>/", api.Study.as_view(), name="study"),
    path("studies/<row:study_id>/cancel/", api.CancelStudy.as_view(), name="study-cancel"),
    path("studies/<row:study_id>/report/", api.StudyReport.as_view(), name="study-report"),
    path("studies/<row:study_id>/trade-off/", api.StudyTradeOff.as_view(), name="study-trade-off"),
    path("studies/<row:study_id>/comparison/", api.StudyComparison.as_view(), name="study-comparison"),
]
