from django.urls import path

from console.prices import api, views

urlpatterns = [
    path("prices/", views.price_list, name="list"),
    path("prices/history.csv", views.history_csv, name="history-csv"),
    path("prices/quotes.csv", views.quotes_csv, name="quotes-csv"),
    path("prices/bounds/", views.terms, name="terms"),
    path("prices/proposals/open/", views.open_proposal, name="open"),
    path("prices/proposals/<row:proposal_id>/", views.proposal, name="proposal"),
    path("prices/proposals/<row:proposal_id>/document.json", views.document, name="document"),
    path("prices/proposals/<row:proposal_id>/edit/", views.edit, name="edit"),
    path("prices/proposals/<row:proposal_id>/send/", views.send, name="send"),
    path("prices/proposals/<row:proposal_id>/<slug:action>/", views.act, name="act"),
]
api_urlpatterns = [
    path("prices/", api.PriceList.as_view(), name="prices"),
    path("prices/history/", api.PriceHistory.as_view(), name="price-history"),
    path("prices/bounds/", api.PriceTerms.as_view(), name="price-terms"),
    path("prices/proposals/", api.ProposalList.as_view(), name="price-proposals"),
    path("prices/proposals/<row:proposal_id>/", api.ProposalOne.as_view(), name="price-proposal"),
    path("prices/proposals/<row:proposal_id>/document/", api.ProposalDocument.as_view(), name="price-document"),
    path("prices/proposals/<row:proposal_id>/send/", api.ProposalSend.as_view(), name="price-send"),
    path("prices/proposals/<row:proposal_id>/approve/", api.ProposalApprove.as_view(), name="price-approve"),
    path("prices/proposals/<row:proposal_id>/reject/", api.ProposalReject.as_view(), name="price-reject"),
    path("prices/proposals/<row:proposal_id>/withdraw/", api.ProposalWithdraw.as_view(), name="price-withdraw"),
    path("prices/models/<str:gpu_model>/", api.PriceOne.as_view(), name="price"),
]
