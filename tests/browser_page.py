"""A page in a real browser, with all that it asked for and complained about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from time_limit import TIME_LIMIT


def new_context(browser: Any, **options: Any) -> Any:
    """Return a context whose pages wait as long as tests may wait."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * TIME_LIMIT)
    return context


class Opened:
    """A page that is drawn, with all that it asked for and complained about."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context = new_context(browser, accept_downloads=True, **context)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._heard(message))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.address = path.as_uri()
        self.page.goto(self.address)
        self.drawn()

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def drawn(self) -> None:
        self.page.wait_for_selector("body[data-charts=drawn]")

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(selector, "all => all.map(each => each.textContent.trim())")
        return found

    def column(self, grid: str, place: int) -> list[str]:
        """The cells of a column of a table, of the rows that are shown."""
        return self.texts(f'[data-grid="{grid}"] tbody tr:not([hidden]) td:nth-child({place})')
