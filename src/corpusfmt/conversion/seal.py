"""Internal: The end of a conversion: what a folder of files needs besides them, and a description, which is written
last.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence

from corpusfmt.conversion.stages import Converted
from corpusfmt.conversion.way import Way
from corpusfmt.description import described
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.publish import publish_bytes


def seal(workplace: Workplace, way: Way, converted: Sequence[Converted]) -> dict[str, FileFacts]:
    """Seal what was written; return all files of the corpus by path."""
    writer, root = way.writer, workplace.destination
    files: dict[str, FileFacts] = {}
    for each in converted:
        files |= each.files
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        own = {path.rpartition("/")[2]: facts for path, facts in files.items() if path.rpartition("/")[0] == folder}
        for name, facts in writer.seal(root / folder, own, workplace.state).items():
            files[f"{folder}/{name}"] = facts
    # Of files that have changed since an earlier run other files may have been made.
    workplace.withdraw(workplace.published() - files.keys())
    # Of corpora side by side the first, which of a release's variants is the deduplicated one, has the record sets.
    below = min(posixpath.dirname(posixpath.dirname(path)) for path in files) if files and writer.by_language else ""
    describer = way.target.describers[way.target_version]
    description = described(way.target_name, describer, files, below, root=root, name=root.name)
    text = json.dumps(description, ensure_ascii=False, indent=2) + "\n"
    publish_bytes(root / "croissant.json", text.encode(), aside=workplace.state)
    workplace.release()
    return files
