from django.urls import path

from console.inventory import api, api_since
from console.inventory.views import fleet, maps, since, sources

urlpatterns = [
    path("fleet/nodes/", fleet.node_table, name="nodes"),
    path("fleet/nodes.csv", fleet.node_csv, name="nodes-csv"),
    path("fleet/nodes/<str:cluster>/<path:name>", fleet.node, name="node"),
    path("fleet/node", fleet.node, name="node-named"),
    path("fleet/why/<str:cluster>/<path:name>", fleet.node_why, name="node-why"),
    path("fleet/pods/", fleet.pod_table, name="pods"),
    path("fleet/pods.csv", fleet.pod_csv, name="pods-csv"),
    path("fleet/pods/<str:cluster>/<path:name>", fleet.pod, name="pod"),
    path("fleet/pod", fleet.pod, name="pod-named"),
    path("fleet/map/nodes/<str:revision>", maps.map_nodes, name="map-nodes"),
    path("fleet/map/gpus/<str:revision>", maps.map_gpus, name="map-gpus"),
    path("fleet/map/layout/<str:digest>", maps.map_layout, name="map-layout"),
    path("fleet/map/names/<str:digest>", maps.map_names, name="map-names"),
    path("fleet/since/", since.since, name="since"),
    path("fleet/since.csv", since.since_csv, name="since-csv"),
    path("fleet/since/map/<str:pairs>", since.since_map, name="since-map"),
    path("fleet/since/layout/<str:pairs>", since.since_layout, name="since-layout"),
    path("fleet/since/names/<str:pairs>", since.since_names, name="since-names"),
    path("sources/", sources.source_list, name="sources"),
    path("sources/load", sources.load, name="load"),
    path("sources/uploads/<row:upload_id>", sources.upload, name="upload"),
    path("sources/<row:source_id>/retry", sources.retry, name="source-retry"),
    path("sources/<row:source_id>/remove", sources.remove, name="source-remove"),
]
api_urlpatterns = [
    path("sources/", api.SourceList.as_view(), name="sources"),
    path("uploads/<row:upload_id>/", api.UploadDetail.as_view(), name="upload"),
    path("observations/", api.ObservationList.as_view(), name="observations"),
    path("nodes/", api.NodeList.as_view(), name="nodes"),
    path("nodes/one/", api.NodeDetail.as_view(), name="node"),
    path("pods/", api.PodList.as_view(), name="pods"),
    path("pods/one/", api.PodDetail.as_view(), name="pod"),
    path("fleet/headline/", api.Headline.as_view(), name="fleet-headline"),
    path("fleet/layout/", api.FleetLayout.as_view(), name="fleet-layout"),
    path("fleet/pools/", api.PoolList.as_view(), name="fleet-pools"),
    path("fleet/shapes/", api.ShapeList.as_view(), name="fleet-shapes"),
    path("fleet/waterfall/", api.WaterfallDetail.as_view(), name="fleet-waterfall"),
    path("fleet/fits/", api.FitsDetail.as_view(), name="fleet-fits"),
    path("fleet/since/", api_since.SinceDetail.as_view(), name="fleet-since"),
    path("fleet/standby/", api.StandbySeries.as_view(), name="fleet-standby"),
]
