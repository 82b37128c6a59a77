from django.contrib.auth.decorators import login_not_required
from django.urls import path

from console.tenancy import api, api_quotas
from console.tenancy.views import book, people, tenants

urlpatterns = [
    path("login/", people.Login.as_view(), name="login"),
    path("logout/", login_not_required(people.Logout.as_view()), name="logout"),
    path("tokens/", people.tokens, name="tokens"),
    path("tokens/<slug:key>/revoke/", people.revoke_token, name="revoke-token"),
    path("tenants/", tenants.tenant_list, name="tenants"),
    path("tenants/<str:name>/", tenants.tenant_page, name="tenant"),
    path("tenants/<str:name>/edit/", book.edit_tenant, name="edit-tenant"),
    path("quotas/", book.book_page, name="book"),
    path("quotas/add/", book.add_tenant, name="add-tenant"),
    path("quotas/table.csv", book.book_csv, name="book-csv"),
    path("quotas/versions/<row:number>/", book.edition_page, name="edition"),
    path("chargeback/", tenants.chargeback, name="chargeback"),
    path("chargeback/lines.csv", tenants.chargeback_csv, name="chargeback-csv"),
]
api_urlpatterns = [
    path("me/", api.Me.as_view(), name="me"),
    path("tokens/", api.TokenList.as_view(), name="tokens"),
    path("tokens/<slug:key>/", api.TokenDetail.as_view(), name="token"),
    path("tenants/", api_quotas.TenantList.as_view(), name="tenants"),
    path("tenants/<str:name>/", api_quotas.TenantDetail.as_view(), name="tenant"),
    path("quotas/", api_quotas.BookView.as_view(), name="quotas"),
    path("quotas/preview/", api_quotas.PreviewView.as_view(), name="quotas-preview"),
    path("quotas/versions/", api_quotas.EditionList.as_view(), name="quotas-versions"),
    path("quotas/versions/<row:number>/put-back/", api_quotas.PutBack.as_view(), name="quotas-put-back"),
    path("chargeback/", api_quotas.Chargeback.as_view(), name="chargeback"),
]
