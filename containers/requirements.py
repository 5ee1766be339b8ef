"""Print the base requirements of pyproject.toml, for a layer that changes only when they do.

With `--extra NAME [WITHOUT..]` those of an extra, but for the packages named. With `--metadata FOLDER` it writes the
little that makes the folder an installed distribution (for `--version`).
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
if sys.argv[1:2] == ["--metadata"]:
    folder = Path(sys.argv[2], f"{project['name']}-{project['version']}.dist-info")
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}", ""]
    (folder / "METADATA").write_text("\n".join(lines))
elif sys.argv[1:2] == ["--extra"]:
    extra = project["optional-dependencies"][sys.argv[2]]
    print("\n".join(each for each in extra if re.split(r"[\[<>=;]", each)[0] not in sys.argv[3:]))
else:
    print("\n".join(project["dependencies"]))
