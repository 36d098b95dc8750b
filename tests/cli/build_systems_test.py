#!/usr/bin/env python3
"""Real projects, built by the real build systems against an installed tree: each has a race, and `redflag run` finds it.

  build_systems_test.py BUILD_FOLDER

The tree is installed below DESTDIR and used there, which is not where its PREFIX says: it must not matter where it is.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = None
SECONDS = 250
FAMILIES = {"gnu": ("gcc", "g++"), "clang-14": ("clang-14", "clang++-14"), "clang-19": ("clang-19", "clang++-19")}
FAMILIES = {name: pair for name, pair in FAMILIES.items() if all(map(shutil.which, pair))}

# A program of two languages with a library, as projects have them: one race, in the library.
SOURCES = {
    "count.h": "#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid count(void);\n",
    "count.c": "#include \"count.h\"\nstatic int counter;\nvoid count(void) { counter++; }  /* the race */\n",
    "main.cc": "#include <thread>\n#include \"count.h\"\n"
               "int main() {\n  std::thread a(count);\n  std::thread b(count);\n  a.join();\n  b.join();\n}\n",
}
RACE = "count.c:3"
CMAKE_HEAD = "cmake_minimum_required(VERSION {version})\nproject(racy LANGUAGES C CXX)\n"
CMAKE_BODY = "add_library(count {kind} count.c)\nadd_executable(app main.cc)\ntarget_link_libraries(app PRIVATE count)\n"
FIND = "find_package(redflag 0.1 REQUIRED)\n"


class BuildSystems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        top = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/redflag"], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"DESTDIR": str(top / "stage")}, timeout=SECONDS)
        cls.tree = top / "stage/opt/redflag"
        cls.redflag = cls.tree / "bin/redflag"

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write(**SOURCES)

    def write(self, **files):
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def call(self, *command, **env):
        ours = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "MFLAGS", "DESTDIR", "PKG_CONFIG_PATH")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("REDFLAG_", "CMAKE_")) and k not in ours}
        environment |= {"PATH": f"{self.tree}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{self.tree}/lib/pkgconfig"}
        result = subprocess.run(list(map(str, command)), cwd=self.folder, env=environment | env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS)
        return result.returncode, result.stdout

    def must(self, *command, **env):
        code, output = self.call(*command, **env)
        self.assertEqual(code, 0, f"{command} {env}\n{output[-4000:]}")
        return output

    def assert_race_is_found(self, program, **env):
        """With `redflag run`, and by the program alone."""
        for command in ([self.redflag, "run", program], [program]):
            code, output = self.call(*command, **env)
            self.assertEqual(code, 66, f"{command}: {output}")
            self.assertEqual(output.count("DATA RACE on"), 1, output)
            self.assertEqual(output.count(RACE), 2, output)

    def has_entry_points(self, binary):
        """In itself, and not only in the runtime library."""
        return any(line.split()[-2:] == ["D", "__redflag_linked1_local"] for line in self.must("nm", "-D", binary).splitlines())

    def cmake(self, *options, **env):
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        self.must("cmake", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *options, **env)
        return self.must("cmake", "--build", "build", "-v", **env)

    # ---- Tolerant sections: a library of its own ----

    def test_tolerant_sections_by_cmake_and_pkg_config(self):
        self.write(**{
            "app.cc": "#include <redflag/tolerate.hpp>\nredflag::tolerant_mutex m(\"m\");\nredflag::tolerated<int> v(m, 1);\n"
                      "int main() {\n  { std::lock_guard lock(m); v = v + 1; }\n  return v == 2 ? 0 : 1;\n}\n",
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(tolerant LANGUAGES CXX)\n" + FIND +
                              "foreach(kind tolerate tolerate_shared)\n  add_executable(app_${kind} app.cc)\n"
                              "  target_link_libraries(app_${kind} PRIVATE redflag::${kind})\nendforeach()\n"})
        self.cmake()
        for kind in ("tolerate", "tolerate_shared"):
            self.must(f"build/app_{kind}")
            self.assertNotIn("libredflag_rt", self.must("ldd", f"build/app_{kind}"))
        for _, cxx in FAMILIES.values():
            flags = self.must("pkg-config", "--cflags", "--libs", "redflag-tolerate").split()
            self.must(cxx, "-std=c++20", "app.cc", *flags, "-o", "app")
            self.must("./app")

    # ---- The compiler replaced ----

    def test_cmake_with_redflag_as_compiler(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.10") + CMAKE_BODY.format(kind="STATIC")})
        for cc, cxx in FAMILIES.values():
            self.cmake(CC="redflag cc", CXX="redflag c++", REDFLAG_CC=cc, REDFLAG_CXX=cxx)
            self.assert_race_is_found("build/app")

    def test_cmake_with_shared_libraries(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.10") + CMAKE_BODY.format(kind="SHARED")})
        for cc, cxx in FAMILIES.values():
            self.cmake("-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,defs", CC="redflag cc", CXX="redflag c++", REDFLAG_CC=cc, REDFLAG_CXX=cxx)
            self.assert_race_is_found("build/app")
            self.assertTrue(self.has_entry_points("build/app"))
            self.assertFalse(self.has_entry_points("build/libcount.so"))

    def test_a_program_that_was_linked_with_other_entry_points_is_refused(self):
        self.must("sh", "-c", "redflag cc -g -c count.c && redflag c++ -g -c main.cc && redflag c++ -o app main.o count.o")
        app = self.folder / "app"
        app.write_bytes(app.read_bytes().replace(b"__redflag_linked1_read4\0", b"__redflag_linked0_read4\0"))
        code, output = self.call("./app")
        self.assertNotIn(code, (0, 66), output)
        self.assertIn("undefined symbol: __redflag_linked0_read4", output)

    def test_cmake_with_a_compiler_given_as_a_list(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.25") + CMAKE_BODY.format(kind="OBJECT")})
        self.cmake("-DCMAKE_C_COMPILER=redflag;cc", "-DCMAKE_CXX_COMPILER=redflag;c++")
        self.assert_race_is_found("build/app")

    def test_cmake_with_a_wrapper(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.25") + CMAKE_BODY.format(kind="STATIC")})
        for command, variable, name in (("cc", "CC", "clang-19"), ("c++", "CXX", "clang++-19")):
            wrapper = self.folder / f"my-{command}"
            wrapper.write_text(f'#!/bin/sh\nREDFLAG_{variable}={name} exec redflag {command} "$@"\n')
            wrapper.chmod(0o755)
        self.cmake(f"-DCMAKE_C_COMPILER={self.folder}/my-cc", f"-DCMAKE_CXX_COMPILER={self.folder}/my-c++")
        self.assert_race_is_found("build/app")

    def test_make(self):
        self.write(Makefile="CFLAGS = -g -O1\nCXXFLAGS = -g -O1\napp: main.o libcount.a\n\t$(CXX) $(LDFLAGS) -o $@ $^\n"
                            "libcount.a: count.o\n\t$(AR) rc $@ $^\nclean:\n\trm -f app *.o *.a\n")
        for cc, cxx in FAMILIES.values():
            self.must("make", "clean")
            self.must("make", "CC=redflag cc", "CXX=redflag c++", REDFLAG_CC=cc, REDFLAG_CXX=cxx)
            self.assert_race_is_found("./app")

    def test_meson(self):
        self.write(**{"meson.build": "project('racy', 'c', 'cpp')\n"
                                     "count = shared_library('count', 'count.c')\n"  # meson links these with -Wl,--no-undefined
                                     "executable('app', 'main.cc', link_with: count, dependencies: dependency('threads'))\n"})
        for name, (cc, cxx) in FAMILIES.items():
            env = {"CC": "redflag cc", "CXX": "redflag c++", "REDFLAG_CC": cc, "REDFLAG_CXX": cxx}
            self.must("meson", "setup", f"build-{name}", "--buildtype=debugoptimized", **env)
            self.must("meson", "compile", "-C", f"build-{name}", **env)
            self.assert_race_is_found(f"build-{name}/app")

    def test_autotools(self):
        self.write(**{
            "configure.ac": "AC_INIT([racy], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_PROG_CXX\nAM_PROG_AR\nAC_PROG_RANLIB\n"
                            "AC_CHECK_FUNCS([pthread_create clock_gettime])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
            "Makefile.am": "noinst_LIBRARIES = libcount.a\nlibcount_a_SOURCES = count.c count.h\n"
                           "bin_PROGRAMS = app\napp_SOURCES = main.cc\napp_LDADD = libcount.a\n"})
        self.must("autoreconf", "--install")
        for name, (cc, cxx) in FAMILIES.items():
            build = self.folder / f"build-{name}"
            build.mkdir()
            env = {"REDFLAG_CC": cc, "REDFLAG_CXX": cxx}
            self.must("sh", "-c", f"cd {build} && ../configure CC='redflag cc' CXX='redflag c++' && make", **env)
            self.assertIn("ac_cv_func_clock_gettime=yes", (build / "config.log").read_text())
            self.assert_race_is_found(build / "app")

    # ---- The compiler left alone ----

    def test_cmake_package(self):
        for version, kind in (("3.13", "STATIC"), ("3.25", "STATIC"), ("3.25", "SHARED"), ("3.25", "OBJECT")):
            self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version=version) + FIND + CMAKE_BODY.format(kind=kind) +
                          "target_link_libraries(count PRIVATE redflag::redflag)\n"
                          "target_link_libraries(app PRIVATE redflag::redflag)\n"})
            for cc, cxx in FAMILIES.values():
                self.cmake(f"-DCMAKE_PREFIX_PATH={self.tree}", CC=cc, CXX=cxx)
                self.assert_race_is_found("build/app")
                self.assertTrue(self.has_entry_points("build/app"))

    def test_cmake_package_reaches_the_program_through_a_static_library(self):
        for version in ("3.13", "3.25"):
            self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version=version) + FIND + CMAKE_BODY.format(kind="STATIC") +
                          "target_link_libraries(count PRIVATE redflag::redflag)\n"})
            for cc, cxx in FAMILIES.values():
                self.cmake(f"-DCMAKE_PREFIX_PATH={self.tree}", CC=cc, CXX=cxx)
                self.assert_race_is_found("build/app")

    def test_cmake_package_and_its_command_in_ctest(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.25") + FIND + CMAKE_BODY.format(kind="STATIC") +
                      "target_link_libraries(count PRIVATE redflag::redflag)\n"
                      "enable_testing()\nadd_test(NAME app COMMAND redflag::command run $<TARGET_FILE:app>)\n"})
        self.cmake(f"-DCMAKE_PREFIX_PATH={self.tree}")
        code, output = self.call("ctest", "--test-dir", "build", "--output-on-failure")
        self.assertNotEqual(code, 0)
        self.assertIn(RACE, output)

    def test_cmake_package_in_an_installed_program(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.25") + FIND + CMAKE_BODY.format(kind="SHARED") +
                      "target_link_libraries(count PRIVATE redflag::redflag)\n"
                      "target_link_libraries(app PRIVATE redflag::redflag)\ninstall(TARGETS app count)\n"})
        self.cmake(f"-DCMAKE_PREFIX_PATH={self.tree}", "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON",
                   f"-DCMAKE_INSTALL_RPATH={self.folder}/to/lib")
        self.must("cmake", "--install", "build", "--prefix", self.folder / "to")
        self.assert_race_is_found(self.folder / "to/bin/app")

    def test_cmake_package_of_another_version_is_refused(self):
        self.write(**{"CMakeLists.txt": CMAKE_HEAD.format(version="3.25") + "find_package(redflag 99 REQUIRED)\n"})
        code, output = self.call("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.tree}")
        self.assertNotEqual(code, 0)
        self.assertIn("redflag", output)

    def test_pkg_config(self):
        for name, (cc, cxx) in FAMILIES.items():
            package = "redflag" if name == "gnu" else "redflag-clang"
            flags = self.must("pkg-config", "--cflags", package).strip()
            libs = self.must("pkg-config", "--libs", package).strip()
            # In steps; in steps with the compile options at the link step too; at once.
            for build in (f"{cc} -g {flags} -c count.c && {cxx} -g {flags} -c main.cc && {cxx} -o app {libs} main.o count.o",
                          f"{cc} -g {flags} -c count.c && {cxx} -g {flags} -c main.cc && {cxx} {flags} -o app main.o count.o {libs}",
                          f"{cc} -g {flags} -c count.c && {cxx} -g -o app main.cc count.o {flags} {libs}"):
                output = self.must("sh", "-c", build)
                self.assertEqual(output, "")
                self.assert_race_is_found("./app")
                self.assertFalse(self.has_entry_points("./app"))  # the library's do as well
                self.must("rm", "app", "count.o")

    def test_meson_with_pkg_config(self):
        self.write(**{"meson.build": "project('racy', 'c', 'cpp')\nredflag = dependency(get_option('package'))\n"
                                     "count = shared_library('count', 'count.c', dependencies: redflag)\n"
                                     "executable('app', 'main.cc', link_with: count, dependencies: redflag)\n",
                      "meson_options.txt": "option('package', type: 'string')\n"})
        for name, (cc, cxx) in FAMILIES.items():
            package = "redflag" if name == "gnu" else "redflag-clang"
            self.must("meson", "setup", f"build-{name}", "--buildtype=debugoptimized", f"-Dpackage={package}", CC=cc, CXX=cxx)
            self.must("meson", "compile", "-C", f"build-{name}")
            self.assert_race_is_found(f"build-{name}/app")


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
