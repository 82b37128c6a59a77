urlpatterns: list[object] = []
api_urlpatterns: list[object] = []
