"""The parts of the build that are not declarative: folders shipped in the package, optional extensions, links of the README."""

import re
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

_SHIPPED = ("schemas", "pipeline")
_REPOSITORY = "https://github.com/corpusfmt/corpusfmt/blob/main/"


def readme_elsewhere() -> str:
    """Return the README with absolute links, for a page that is not next to the linked files."""
    text = Path("README.md").read_text("utf-8")
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{_REPOSITORY}", text)


class BuildWithData(build_py):
    """Copy the published schemas and recipes into the wheel as ``corpusfmt/_data``."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder in _SHIPPED:
            target = Path(self.build_lib) / "corpusfmt" / "_data" / folder
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target)


class BuildNative(build_ext):
    """Compile for exact results: a fused multiply-add would change the last bits of the scores."""

    def build_extension(self, extension: Extension) -> None:
        try:
            super().build_extension(extension)
        except Exception:
            # A stale library from an earlier source would be loaded instead.
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.missing.append(extension.name)
            raise

    def build_extensions(self) -> None:
        self.missing: list[str] = []
        for extension in self.extensions:
            if self.compiler.compiler_type == "msvc":
                extension.extra_compile_args = ["/std:c++17", "/O2", "/EHsc", "/fp:precise"]
            else:
                extension.extra_compile_args = ["-std=c++17", "-O2", "-g0", "-ffp-contract=off", "-fvisibility=hidden"]
                if sys.platform == "linux":  # GCC; Clang, on other systems, vectorises by default
                    extension.extra_compile_args += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
                    # Inlined copies and empty pages make the file larger, not faster.
                    extension.extra_compile_args += ["-fno-inline-functions"]
                    extension.extra_link_args = ["-Wl,-s", "-Wl,-z,noseparate-code"]
        super().build_extensions()
        if self.missing:
            names = ", ".join(self.missing)
            self.warn(
                f"not compiled: {names}; corpusfmt gives the same results without it, more slowly (no C++ compiler?)"
            )


setup(
    long_description=readme_elsewhere(),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": BuildNative, "build_py": BuildWithData},
    ext_modules=[
        Extension(
            f"corpusfmt.{package}._native",
            [f"src/corpusfmt/{package.replace('.', '/')}/_native.cpp"],
            depends=sorted(map(str, Path("src/corpusfmt").rglob("*.hpp"))),
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
        for package in ("formats", "formats.croissant", "io", "langid", "pipeline")
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
