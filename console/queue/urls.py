from django.urls import path

from console.queue import api, views

urlpatterns = [
    path("queue/", views.queue, name="list"),
    path("queue.csv", views.queue_csv, name="csv"),
    path("queue/jobs/<row:job_id>/unblock", views.unblock, name="unblock"),
    path("queue/jobs/<row:job_id>/start", views.start, name="start"),
    path("queue/job", views.job, name="job-named"),
    path("queue/<str:cluster>/<str:namespace>/<path:name>/", views.job, name="job"),
]
api_urlpatterns = [
    path("queue/", api.QueueList.as_view(), name="queue"),
    path("queue/totals/", api.QueueTotals.as_view(), name="queue-totals"),
    path("queue/jobs/one/", api.JobDetail.as_view(), name="queue-job"),
    path("queue/jobs/<row:job_id>/unblock/", api.JobUnblock.as_view(), name="queue-unblock"),
    path("queue/jobs/<row:job_id>/start/", api.JobStart.as_view(), name="queue-start"),
    path("queue/running/", api.RunningList.as_view(), name="queue-running"),
]
