"""The release, the issue form and the citation agree with the project."""

import os
import re
import subprocess
import tomllib

import pytest
import yaml

import saccade
from commands import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def content(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


RELEASE = content(".github/workflows/release.yml")
STEPS = [step for job in RELEASE["jobs"].values() for step in job["steps"]]


def test_versions_are_equal():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [named] = re.findall(r"version (\d+\.\d+\.\d+)", readme)
    citation = content("CITATION.cff")
    assert {PROJECT["version"], saccade.__version__, named} == {citation["version"]}
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["license"] == PROJECT["license"]
    preferred = citation["preferred-citation"]
    assert all(preferred[name] == citation[name] for name in ("title", "authors", "version", "license"))


@pytest.mark.parametrize(("tag", "status"), [(f"v{PROJECT['version']}", 0), ("v9.9.9", 1), (PROJECT["version"], 1)])
def test_a_tag_is_the_version(tag, status):
    [check] = [step["run"] for step in STEPS if "tag" in step.get("name", "")]
    done = subprocess.run(
        ["bash", "-e", "-c", check],
        cwd=ROOT,
        env={**os.environ, "GITHUB_REF_NAME": tag},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert status == 0 or f"expected v{PROJECT['version']}, got {tag}" in done.stdout


def test_only_the_last_job_may_publish():
    assert RELEASE["permissions"] == {"contents": "read"} and list(RELEASE["jobs"]) == ["build", "publish"]
    assert "permissions" not in RELEASE["jobs"]["build"]
    publish = RELEASE["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"] == "pypi"
    assert not any("run" in step for step in publish["steps"])  # no code of the checkout beside the permission
    assert not any("password" in step.get("with", {}) for step in STEPS)


def test_actions_have_whole_versions():
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and all(re.fullmatch(r"[\w/-]+@v\d+\.\d+\.\d+", name) for name in used)


def test_a_report_of_a_bug_has_what_a_repair_needs():
    form = content(".github/ISSUE_TEMPLATE/bug.yml")
    assert [part["id"] for part in form["body"]] == ["code", "expected", "got", "env"]
    assert all(part["validations"] == {"required": True} for part in form["body"])
    assert "saccade env" in form["body"][-1]["attributes"]["label"]
    assert content(".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": True}
