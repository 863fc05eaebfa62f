"""The parts of the build that are not declarative: folders shipped in the package, optional extensions, links of the README."""

import os
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

_SHIPPED = ("schemas", "pipeline")
_REPOSITORY = "https://github.com/corpusfmt/corpusfmt/blob/main/"


def readme_elsewhere() -> str:
    """Return the README with absolute links, for a page that is not next to the linked files."""
    text = Path("README.md").read_text("utf-8")
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{_REPOSITORY}", text)


KERNELS = ("formats", "formats.croissant", "io", "langid", "pipeline")
EXACT = ("-std=c++17", "-O2", "-g0", "-ffp-contract=off", "-fvisibility=hidden")

# The kernels read strangers' bytes. What a compiler does not know, like control flow protection elsewhere than on x86, is left out.
# Together they add at most 2.4 % of instructions to a kernel; -D_GLIBCXX_ASSERTIONS would multiply them: only fuzzing has it.
HARDENED = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fcf-protection")
HARDENED_LINK = ("-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,separate-code")


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

    def takes(self, flag: str) -> bool:
        """Return whether the compiler takes a flag."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.cpp")
            source.touch()
            try:
                self.compiler.compile([str(source)], output_dir=folder, extra_postargs=["-O2", "-Werror", flag])
            except CompileError:
                return False
        return True

    def build_extensions(self) -> None:
        self.missing: list[str] = []
        hardening = [] if self.compiler.compiler_type == "msvc" else [each for each in HARDENED if self.takes(each)]
        for extension in self.extensions:
            if self.compiler.compiler_type == "msvc":
                extension.extra_compile_args = ["/std:c++17", "/O2", "/EHsc", "/fp:precise"]
            else:
                extension.extra_compile_args = [*EXACT, *hardening]
                if sys.platform == "linux":  # GCC; Clang, on other systems, vectorises by default
                    extension.extra_compile_args += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
                    # Inlined copies make the file larger, not faster.
                    extension.extra_compile_args += ["-fno-inline-functions"]
                    extension.extra_link_args = ["-Wl,-s", *HARDENED_LINK]
        super().build_extensions()
        if self.missing:
            names = ", ".join(self.missing)
            self.warn(
                f"not compiled: {names}; corpusfmt gives the same results without it, more slowly (no C++ compiler?)"
            )


def main() -> None:
    # A free-threaded Python has no limited API: its wheel is for one version.
    limited = not sysconfig.get_config_var("Py_GIL_DISABLED")
    kernels = [
        Extension(
            f"corpusfmt.{package}._native",
            [f"src/corpusfmt/{package.replace('.', '/')}/_native.cpp"],
            depends=sorted(map(str, Path("src/corpusfmt").rglob("*.hpp"))),
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if limited else [],
            py_limited_api=limited,
            optional=True,
        )
        for package in KERNELS
    ]
    pure = bool(os.environ.get("CORPUSFMT_PURE"))
    setup(
        long_description=readme_elsewhere(),
        long_description_content_type="text/markdown",
        cmdclass={"build_ext": BuildNative, "build_py": BuildWithData},
        ext_modules=[] if pure else kernels,
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if limited and not pure else {},
    )


if __name__ == "__main__":
    main()
