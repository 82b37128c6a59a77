"""Everything that reads; the viewer comes first and decides what is seen."""

from console.tenancy.selectors.people import TokenRow, permissions_of, tenant_scope, tokens_of

__all__ = ["TokenRow", "permissions_of", "tenant_scope", "tokens_of"]
