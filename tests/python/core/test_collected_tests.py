"""What tests/python/conftest.py takes for a requirement."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy
import pytest


@pytest.fixture
def conftest(request: pytest.FixtureRequest):
    plugins = request.config.pluginmanager
    return next(p for p in plugins.get_plugins() if hasattr(p, "is_met"))


def test_a_module_that_is_installed_meets_its_name_and_older_versions(conftest):
    assert conftest.is_met("numpy")
    assert conftest.is_met("numpy>=1.20")
    assert conftest.is_met(f"numpy>={numpy.__version__}")


def test_a_version_is_compared_by_numbers(conftest):
    assert not conftest.is_met("numpy>=100.0")
    assert conftest.is_met("numpy<100.0")
    assert not conftest.is_met(f"numpy<{numpy.__version__}")


def test_a_module_that_is_missing_meets_nothing(conftest):
    assert not conftest.is_met("no_such_module")
    assert not conftest.is_met("no_such_module<2")


def test_a_requirement_that_cannot_be_read_is_an_error(conftest):
    with pytest.raises(ValueError, match="not numpy~=2"):
        conftest.is_met("numpy~=2")


def test_a_test_whose_requirement_is_not_met_is_left_out_and_named(conftest, tmp_path):
    shutil.copy(conftest.__file__, tmp_path)
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "test_two.py").write_text(
        "import pytest\n"
        "@pytest.mark.requires('numpy<1')\n"
        "def test_old(): pytest.fail()\n"
        "@pytest.mark.requires('numpy>=1')\n"
        "def test_new(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path / "core")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 deselected" in done.stdout
    assert "\nleft out: core/test_two.py::test_old\n" in done.stdout
