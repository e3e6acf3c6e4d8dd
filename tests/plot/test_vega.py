"""The bundle of Vega in pages, and charts as pictures: where it is kept, what is believed, and what its death costs."""

from __future__ import annotations

import hashlib
import os
import pwd
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from calipers.errors import CalipersError
from calipers.plot import vega
from conftest import Require

Require().module("vl_convert")

SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a", "type": "quantitative"}}}


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder, and where the bundle will be kept in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vega.bundle.cache_clear()
    return tmp_path / "calipers" / f"vega-{version('vl-convert-python')}.js"


def test_the_digest_of_the_installed_version_is_known(bundle: Path) -> None:
    script = vega.bundle()
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() == vega.DIGESTS[version("vl-convert-python")]
    vega.bundle.cache_clear()
    assert vega.bundle() == script


def test_a_bundle_that_somebody_wrote_into_the_cache_is_not_believed(bundle: Path) -> None:
    bundle.parent.mkdir()
    script = "window.hit = 1"
    for content in (script, f"// {hashlib.sha256(script.encode()).hexdigest()}\n{script}"):
        bundle.write_text(content, encoding="utf-8")
        vega.bundle.cache_clear()
        assert script not in vega.bundle()


def test_a_bundle_of_an_unknown_version_is_put_together_anew(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "DIGESTS", {})
    bundle.parent.mkdir()
    bundle.write_text("window.hit = 1", encoding="utf-8")
    assert "window.hit" not in vega.bundle()


def test_without_a_home_folder_nothing_is_kept(bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    assert "vegaEmbed" in vega.bundle()
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_kept_the_bundle_is_put_together_anew(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vegaEmbed" in vega.bundle()


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of addresses is Linux's")
def test_where_v8_cannot_start_the_error_is_one_line(tmp_path: Path) -> None:
    """V8 reserves more addresses than clusters allow, and ends its process."""
    code = "from calipers.plot import vega\ntry:\n    vega.{}\nexcept Exception as e:\n    print(type(e), e)"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    for call in (f"svg({SPEC})", f"png({SPEC}, 1)", "bundle()"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(call)],
            capture_output=True,
            text=True,
            preexec_fn=limited,
            check=False,
            env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        )
        assert (done.returncode, done.stderr) == (0, ""), call
        assert "CalipersError" in done.stdout
        assert "vl-convert was ended by SIGTRAP" in done.stdout
        assert done.stdout.count("\n") == 1


def test_a_specification_that_vega_refuses() -> None:
    with pytest.raises(CalipersError, match="vl-convert failed: ") as error:
        vega.svg({"mark": "no such mark"})
    assert "\n" not in str(error.value)


def test_modules_in_the_current_folder_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vl_convert.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert vega.svg(SPEC).startswith(b"<svg")
