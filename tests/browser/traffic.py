"""The network log of a page: how many requests and how many bytes on the wire."""

from dataclasses import dataclass, field

from playwright.sync_api import Page


@dataclass
class Traffic:
    """Bodies as they were sent, compressed, by address."""

    sent: list[tuple[str, int]] = field(default_factory=list)

    def matching(self, words: str) -> list[tuple[str, int]]:
        return [(url, size) for url, size in self.sent if words in url]

    def clear(self) -> None:
        self.sent.clear()


def record(page: Page) -> Traffic:
    """Notes every finished request from now on."""
    traffic = Traffic()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    addresses: dict[str, str] = {}
    heads: dict[str, float] = {}

    def answered(event: dict[str, object]) -> None:
        response = event["response"]
        assert isinstance(response, dict)
        addresses[str(event["requestId"])] = str(response["url"])
        heads[str(event["requestId"])] = float(response["encodedDataLength"])

    def finished(event: dict[str, object]) -> None:
        key = str(event["requestId"])
        size = event["encodedDataLength"]
        assert isinstance(size, int | float)
        traffic.sent.append((addresses.get(key, "?"), int(size - heads.get(key, 0))))

    session.on("Network.responseReceived", answered)
    session.on("Network.loadingFinished", finished)
    return traffic
