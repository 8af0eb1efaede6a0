"""A reader without a browser: follows the forms of the pages as a person does."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from html import unescape

import httpx2 as httpx

FORM = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.S)
FIELD = re.compile(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


@dataclass
class Page:
    """A page that was read."""

    response: httpx.Response

    @property
    def text(self) -> str:
        return self.response.text

    @property
    def path(self) -> str:
        return self.response.url.path

    def form(self, end: str) -> tuple[str, dict[str, str]]:
        """The address and the fields of the form whose address ends so."""
        for action, content in FORM.findall(self.text):
            if action.endswith(end):
                return action, {unescape(name): unescape(value) for name, value in FIELD.findall(content)}
        raise AssertionError(f"There is no form to {end} on {self.path}: {self.text[:2000]}")

    @property
    def is_blind(self) -> bool:
        return "label is hidden" in self.text


class Reviewer:
    """Someone who reviews, by the forms of the pages."""

    def __init__(self, client: httpx.Client, model: str = "loans") -> None:
        self.client, self.model = client, model
        client.follow_redirects = True

    def get(self, path: str) -> Page:
        return Page(self.client.get(path))

    def submit(self, page: Page, end: str, **more: str) -> Page:
        action, fields = page.form(end)
        return Page(self.client.post(action, data=fields | more))

    def take(self, seconds: float = 20) -> Page:
        """Take a case; waits until there is one."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            page = self.submit(self.get("/review"), f"/review/{self.model}/next")
            if page.path.startswith("/cases/"):
                return page
            time.sleep(0.1)
        raise AssertionError(page.text)

    def wait_to_ask(self, page: Page, seconds: float = 60) -> None:
        """Wait until the model may be asked: no answer that was given without its label can be undone any more."""
        until = time.monotonic() + seconds
        while self.client.post(f"{page.path}/what-if", data={}).status_code == 403:
            assert time.monotonic() < until
            time.sleep(0.3)

    def take_where(self, is_blind: bool, most: int = 60) -> Page:
        """Answer cases until one comes that is blind, or one that is not."""
        page = self.take()
        for _ in range(most):
            if page.is_blind == is_blind:
                return page
            page = self.submit(page, "/answer", answer='"paid"')
        raise AssertionError("No such case came.")
