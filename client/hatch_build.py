"""Takes the site's modules that read and judge into the package, from the repository or from an sdist."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_SDIST = "site"


class SiteModules(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        site = Path(self.root).parent
        if not (site / "runs" / "ycsb").is_dir():
            site = Path(self.root) / IN_SDIST
        prefix = ""
        if self.target_name == "sdist":
            prefix = f"{IN_SDIST}/"
        for pattern in self.config["files"]:
            paths = [path for path in site.glob(pattern) if "tests" not in path.parts]
            if not paths:
                raise FileNotFoundError(
                    f"{site / pattern} is missing: build ./client within a clone of the repository."
                )
            names = {path.relative_to(site).as_posix(): str(path) for path in paths}
            for name in names.keys() - set(self.config["without"]):
                build_data["force_include"][names[name]] = f"{prefix}{name}"
