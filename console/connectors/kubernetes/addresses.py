"""Addresses where no API server and no Prometheus lives, since clouds keep the credentials of machines there."""

import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from console.connectors.kubernetes.refusals import AccessError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Beside the link-local ones, of which 169.254.169.254 is the best known.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "fd00:ec2::254",  # Amazon
        "fd20:ce::254",  # Google
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle
    )
)
# Networks whose addresses end in one of IPv4: NAT64 (well known and local), and the old compatible form.
TRANSLATED = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96"))
PROXY_SCHEMES = ("http", "https")


def refuse_address(host: str) -> None:
    """Raises ``AccessError``.  A name passes: where it leads is looked at when a connection stands."""
    address = _parsed(host)
    if address is None:
        return
    if any(_refused(one) for one in _meant(address)):
        raise AccessError(f"{host} is not the address of an API server")


def check_proxy(url: str, path: str) -> str:
    """The address of a proxy as it is kept.  Raises ``AccessError``, which does not quote its password."""
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in PROXY_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isascii() or not url.strip().isprintable():
        raise AccessError(f"{path} is not the address of a proxy, beginning with http:// or https://")
    if parts.username or parts.password:
        raise AccessError(f"{path} holds a user name or a password, which is not supported")
    refuse_address(str(parts.hostname))
    return url.strip()


def _parsed(host: str) -> _Address | None:
    """Also what resolvers take for an address: 2852039166, 0xa9fea9fe, 169.254.43518."""
    try:
        return ipaddress.ip_address(host.strip("[]").rstrip("."))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeEncodeError):
        return None


def _meant(address: _Address) -> Iterator[_Address]:
    """The address, and those of IPv4 that it stands for."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    within = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    yield from (one for one in within if one is not None)
    if any(address in network for network in TRANSLATED):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _refused(address: _Address) -> bool:
    bare = ipaddress.IPv6Address(int(address)) if getattr(address, "scope_id", None) else address
    return address.is_link_local or address.is_unspecified or address.is_multicast or bare in METADATA
