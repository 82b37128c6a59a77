from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.tenancy import selectors, services
from console.tenancy.serializers import (
    IssuedTokenSerializer,
    PersonSerializer,
    TokenRequestSerializer,
    TokenSerializer,
)


class Me(APIView):
    @extend_schema(responses=PersonSerializer)
    def get(self, request: Request) -> Response:
        """Who the caller is and what the caller may do."""
        scope = selectors.tenant_scope(request.user)
        person = {
            "username": request.user.get_username(),
            "role": getattr(request.user, "role", ""),
            "permissions": selectors.permissions_of(request.user),
            "tenants": None if scope is None else sorted(scope),
        }
        return Response(PersonSerializer(person).data)


class TokenList(APIView):
    @extend_schema(responses=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The caller's own tokens, newest first."""
        return Response(TokenSerializer(selectors.tokens_of(request.user), many=True).data)

    @extend_schema(request=TokenRequestSerializer, responses={201: IssuedTokenSerializer})
    def post(self, request: Request) -> Response:
        """A new token.  Its secret is in this answer and nowhere else."""
        wish = TokenRequestSerializer(data=request.data)
        wish.is_valid(raise_exception=True)
        key, secret = services.issue_token(services.person(request.user), wish.validated_data["days"])
        return Response({"key": key, "token": secret}, status=status.HTTP_201_CREATED)


class TokenDetail(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, key: str) -> Response:
        """Revokes one of the caller's own tokens."""
        if not services.revoke_token(services.person(request.user), key):
            raise NotFound(f"You hold no token {key}.")
        return Response(status=status.HTTP_204_NO_CONTENT)
