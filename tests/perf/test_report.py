from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from perf.charts import charts
from perf.point import point_from_json
from perf.report import render_report, write_report
from perf.run import Run
from tests.perf.made import point, run
from tritonsmith.errors import MeasurementError, MissingExtra

MINI = run(
    point(1),
    point(2, throughput_qps=390.0, throughput_ips=390.0, latency_p99_ms=None, n=90, stable=False),
    point(4, throughput_qps=612.25, throughput_ips=612.25, latency_p99_ms=24.5, queue_us=1800.0),
    model="<mini>",
)
OTHER = run(point(1, throughput_qps=55.0), model="other", client="builtin", slo_p99_ms=None)
CHROMIUM = shutil.which("chromium")
CHROMIUM_ARGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


class Page(HTMLParser):
    """The parts of a report that tests look at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.scripts: dict[str, str] = {}
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self._script: str | None = None
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [value for name in ("id",) if (value := given.get(name))]
        self.links += [value for name in ("src", "href") if (value := given.get(name))]
        self._script = given.get("id") if tag == "script" else None
        self._in_cell = tag in {"td", "th"}
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  # the parser's signature
        self._script, self._in_cell = None, False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        if self._in_cell:
            self.rows[-1].append(data)


@pytest.fixture(scope="module")
def text() -> str:
    return render_report([MINI, OTHER], title="Two models")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_needs_nothing_from_outside(page: Page, text: str) -> None:
    assert page.links == ["#run-0", "#run-1"]
    assert "default-src 'none'" in text
    assert text.count("plotly.js v") == 1


def test_the_records_are_in_the_page_unchanged(page: Page) -> None:
    runs = json.loads(page.scripts["records"])
    assert runs == [MINI.to_json(), OTHER.to_json()]
    assert point_from_json(runs[0]["points"][2]) == MINI.points[2]


def test_the_table_has_the_records_values(page: Page) -> None:
    row = next(cells for cells in page.rows if cells[:2] == ["4", "612.2"])
    assert " ".join(row) == "4 612.2 612.2 5.25 5.00 6.00 7.00 24.50 700 0 1800 4200 1.50 yes"
    assert next(cells for cells in page.rows if cells[0] == "2")[7] == "-"


def test_every_chart_has_its_place_and_the_records_values(page: Page) -> None:
    figures = json.loads(page.scripts["figures"])
    names = ("curve", "percentiles", "split", "batches")
    assert sorted(figures) == sorted(f"run-{index}-{name}" for index in (0, 1) for name in names)
    assert set(figures) <= set(page.ids)
    p99 = figures["run-0-curve"]["data"][1]
    assert p99["x"] == [200.5, 390.0, 612.25]
    assert p99["y"] == [9.5, None, 24.5]


def test_the_charts_show_slo_stability_and_split() -> None:
    by_name = {chart.name: chart.figure for chart in charts(MINI)}
    assert by_name["curve"]["layout"]["shapes"][0]["y0"] == 20.0
    assert by_name["curve"]["data"][0]["marker"]["symbol"] == ["circle", "circle-open", "circle"]
    far = run(*MINI.points, slo_p99_ms=500.0)
    assert "shapes" not in charts(far)[0].figure["layout"]
    stages = {trace["name"]: trace["y"] for trace in by_name["split"]["data"]}
    assert stages["queue"] == [600.0, 600.0, 1800.0]
    assert stages["outside"] == [250.0, 250.0, 0.0]
    assert by_name["batches"]["data"][0]["y"] == [1.5, 1.5, 1.5]


def test_names_cannot_break_the_page(text: str) -> None:
    assert "<mini>" not in text
    assert "&lt;mini&gt;" in text


def test_warnings_stand_above_the_numbers(text: str) -> None:
    assert text.index("Not stable at concurrency 2") < text.index("Best throughput")
    assert "Measured with the built-in client" in text


def test_without_plotly_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtra) as caught:
        render_report([MINI], title="")
    assert caught.value.hint == "pip install 'tritonsmith[perf]'"


def test_nothing_measured_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="no point was measured"):
        write_report(tmp_path / "index.html", [Run(header=MINI.header)], title="")
    assert not (tmp_path / "index.html").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        assert "CI" not in os.environ, "chromium is missing: .ci/run installs it"
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 390)])
def test_a_browser_draws_every_chart_without_a_word_on_its_console(
    browser: Any, tmp_path: Path, scheme: str, width: int
) -> None:
    path = tmp_path / "report" / "index.html"
    write_report(path, [MINI, OTHER], title="Two models")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.wait_for_selector("#run-1-batches .main-svg")
    assert page.locator(".chart .main-svg").count() >= 8
    assert page.locator("#run-0-curve .scatterlayer .point").count() == 5
    assert page.locator("#run-0-split .barlayer .point").count() == 15
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.evaluate("document.getElementById('run-0-curve').data[1].y")
    assert drawn == [9.5, None, 24.5]
    assert said == []
    page.close()


@pytest.mark.slow
def test_hovering_shows_the_value_and_the_legend_hides_a_line(browser: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "index.html"
    write_report(path, [MINI], title="One model")
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("#run-0-batches .main-svg")
    page.locator("#run-0-batches").scroll_into_view_if_needed()
    box = page.locator("#run-0-batches .barlayer .point").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hover = page.locator("#run-0-batches .hoverlayer .hovertext").first
    hover.wait_for(timeout=10_000)
    assert re.search(r"concurrency 1.*1\.50 rows", hover.text_content())
    page.locator("#run-0-percentiles .legendtoggle").first.click()
    expect(page.locator("#run-0-percentiles .scatterlayer .trace")).to_have_count(3)
    page.close()
