#!/usr/bin/env python3
"""Sets everything up and goes: needs a Python and nothing else.

    python3 dev.py run PROJECT [...]    what follows goes to `munet run`
    python3 dev.py test [...]           what follows goes to pytest
    python3 dev.py check                ruff and basedpyright

Makes .venv, installs the package into it as it lies here (again only when pyproject.toml has changed), and sees to a
Vulkan loader and driver; for tests also to a display without a screen. Standard library only; the syntax is kept readable for
old Pythons, which it must refuse politely.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

USAGE = """usage: python3 dev.py run PROJECT [...]    what follows goes to `munet run`
       python3 dev.py test [...]           what follows goes to pytest
       python3 dev.py check                ruff and basedpyright"""
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
STAMP = VENV / "munet-setup.json"  # what was installed last
OLDEST, NEWEST = (3, 11), (3, 13)
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
LINUX_DRIVERS = {  # package tool -> the line to type
    "apt-get": "apt-get install libvulkan1 mesa-vulkan-drivers",
    "dnf": "dnf install vulkan-loader mesa-vulkan-drivers",
    "pacman": "pacman -S vulkan-icd-loader vulkan-swrast",
    "zypper": "zypper install libvulkan1 libvulkan_lvp",
    "apk": "apk add vulkan-loader mesa-vulkan-swrast",
}
# What the tests of the window need on Debian, with what tells whether it is there: a program, or a library.
DISPLAY_NEEDS = {
    "xvfb": "Xvfb",
    "xdotool": "xdotool",
    "libgl1": "libGL.so.1",
    "libgl1-mesa-dri": "libGLX_mesa.so.0",
    "libx11-6": "libX11.so.6",
    "libxcursor1": "libXcursor.so.1",
    "libxi6": "libXi.so.6",
    "libxinerama1": "libXinerama.so.1",
    "libxrandr2": "libXrandr.so.2",
    "libxxf86vm1": "libXxf86vm.so.1",
}

# Run in a process of its own: a broken driver may crash or hang. Prints the number of devices of the Vulkan loader.
PROBE = """
import ctypes, sys
brew = [folder + "libvulkan.1.dylib" for folder in ("", "/opt/homebrew/lib/", "/usr/local/lib/")]
names = {"win32": ["vulkan-1.dll"], "darwin": brew}
for name in names.get(sys.platform, ["libvulkan.so.1"]):
    try:
        vulkan = ctypes.CDLL(name)
        break
    except OSError:
        continue
else:
    sys.exit("no loader")
class InstanceCreateInfo(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint), ("application", ctypes.c_void_p),
                ("layer_count", ctypes.c_uint), ("layers", ctypes.c_void_p),
                ("extension_count", ctypes.c_uint), ("extensions", ctypes.POINTER(ctypes.c_char_p))]
info = InstanceCreateInfo(type=1)
if sys.platform == "darwin":  # MoltenVK is listed only to those who ask for it
    info.flags, info.extension_count = 1, 1
    info.extensions = (ctypes.c_char_p * 1)(b"VK_KHR_portability_enumeration")
instance, count = ctypes.c_void_p(), ctypes.c_uint()
if vulkan.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)) == 0:
    vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
print(count.value)
"""

# Run in a process of its own, too: prints those of the named libraries that can be loaded.
LOADABLE = """
import ctypes, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        continue
    print(name)
"""


class SetupError(Exception):
    """Where, what, and the cure; printed without a traceback."""


def main(arguments):
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in ("run", "test", "check") or (command == "run" and not rest):
        print(USAGE)
        return 2
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return run_with_other_python(arguments)
    try:
        set_up(extra="" if command == "run" else "dev")
        if command == "check":
            return check()
        device = set_up_vulkan(with_validation=command == "test")
        if command == "test":
            set_up_display()
    except SetupError as error:
        print("dev.py: %s" % error, file=sys.stderr)
        return 1
    except OSError as error:
        print("dev.py: %s\nTry: look whether this user may write there and whether there is space." % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if command == "run":
        named = any(argument.split("=")[0] == "--device" for argument in rest)
        return call([script("munet"), "run", *rest, *([] if device or named else ["--device", "cpu"])])
    workers = [] if rest else ["-n", "auto", "--dist", "worksteal"]
    return call([python(), "-m", "pytest", *workers, *rest], cwd=ROOT)


def check():
    """All of them run, also when one finds something."""
    results = [
        call([script("ruff"), "check", "."], cwd=ROOT),
        call([script("ruff"), "format", "--check", "."], cwd=ROOT),
        call([script("basedpyright")], cwd=ROOT),
    ]
    return max(results)


def call(command, **options):
    """Runs in the foreground and gives the exit status; an interrupt is the called program's business."""
    sys.stdout.flush()
    with subprocess.Popen([str(part) for part in command], **options) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def quiet(command, timeout=None, **options):
    """Runs without output; (exit status, what it printed). 127 when there is no such program, 124 when it took too long."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
            **options,
        )
    except OSError as error:
        return 127, str(error)
    except subprocess.TimeoutExpired:
        return 124, "no answer within %d s" % timeout
    return done.returncode, done.stdout.decode("utf-8", "replace")


def say(text):
    print("dev.py: " + text, file=sys.stderr, flush=True)


# --- Python and packages ---------------------------------------------------------------------------------------------


def run_with_other_python(arguments):
    found = "%d.%d" % sys.version_info[:2]
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        other = shutil.which("python3.%d" % minor)
        if other and quiet([other, "-c", ""], timeout=30)[0] == 0:
            say("this is Python %s; going on with %s" % (found, other))
            return call([other, ROOT / "dev.py", *arguments])
    say("this is Python %s, but MuNet Studio needs 3.11, 3.12 or 3.13." % found)
    say("Install one of them (Debian 12, Ubuntu 24.04: apt-get install python3 python3-venv) and start dev.py with it.")
    return 1


def python():
    return BIN / ("python.exe" if os.name == "nt" else "python")


def script(name):
    return BIN / (name + ".exe" if os.name == "nt" else name)


def set_up(extra):
    """A virtual environment that holds the package and, if asked for, the tools of the extra `dev`."""
    make_venv()
    wanted = {"pyproject": hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest(), "root": str(ROOT), "extra": extra}
    found = read_stamp()
    if all(found.get(key) == wanted[key] for key in ("pyproject", "root")) and extra in ("", found.get("extra")):
        return
    # Once installed, an extra stays: otherwise `run` after `test` would leave it behind at the next change.
    extra = wanted["extra"] = extra or found.get("extra", "")
    say("installing munet-studio%s into %s ..." % ("[%s]" % extra if extra else "", VENV))
    STAMP.unlink(missing_ok=True)
    target = "%s[%s]" % (ROOT, extra) if extra else str(ROOT)
    command = [python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-e", target]
    status, output = quiet([*command, *(torch_index() if extra == "dev" else [])], cwd=ROOT)
    if status:
        raise SetupError(
            "pip could not install the packages into %s:\n%s\nTry: look at the lines above (no network? a proxy? no space?); "
            "after a broken install delete %s and start again." % (VENV, telling_lines(output), VENV)
        )
    STAMP.write_text(json.dumps(wanted))


def read_stamp():
    try:
        found = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def telling_lines(output):
    """The lines of pip's output that say what went wrong."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith(("WARNING:", "Looking in", "[notice]"))]
    errors = [line for line in lines if line.lower().lstrip().startswith("error")]
    return "  " + "\n  ".join((errors or lines)[-12:])


def make_venv():
    version_check = "import sys; sys.exit(not %r <= sys.version_info[:2] <= %r)" % (OLDEST, NEWEST)
    if python().exists():
        if (
            quiet([python(), "-c", version_check], timeout=60)[0] == 0
            and quiet([python(), "-m", "pip", "--version"], timeout=60)[0] == 0
        ):
            return
        if not STAMP.exists():
            raise SetupError("%s holds no working Python 3.11 to 3.13 with pip.\nTry: delete that folder and start again." % VENV)
    if importlib.util.find_spec("ensurepip") is None:
        install_debian(["python3-venv"], why="Python's own venv module is incomplete")
    say("making %s ..." % VENV)
    status, output = quiet([sys.executable, "-m", "venv", "--clear", VENV])
    if status:
        # Debian splits venv into a package of its own for each Python version.
        install_debian(["python%d.%d-venv" % sys.version_info[:2]], why="python -m venv failed:\n" + telling_lines(output))
        status, output = quiet([sys.executable, "-m", "venv", "--clear", VENV])
    if status:
        raise SetupError("%s: the virtual environment could not be made:\n%s" % (VENV, telling_lines(output)))


def torch_index():
    """On Linux the registry's torch brings gigabytes of CUDA that tests do not use; PyTorch's own index has a CPU build.

    Asked only if it answers, and only where pip is not configured to look in places of its own.
    """
    if not sys.platform.startswith("linux"):
        return []
    status, configured = quiet([python(), "-m", "pip", "config", "list"], timeout=60)
    if status or any(word in configured for word in ("index-url", "find-links", "no-index")):
        return []
    if any((VENV / "lib").glob("python*/site-packages/torch/version.py")):
        return []
    try:
        with urllib.request.urlopen(CPU_WHEELS + "/torch/", timeout=5):
            return ["--extra-index-url", CPU_WHEELS]
    except (OSError, ValueError):
        return []


# --- Vulkan ------------------------------------------------------------------------------------------------------------


def set_up_vulkan(with_validation):
    """Whether there is a Vulkan device. Installs Debian's packages where that is possible; elsewhere says what to type."""
    found = vulkan_device_count() > 0
    packages = [] if found else ["libvulkan1", "mesa-vulkan-drivers"]
    if with_validation and not has_validation_layer():
        packages.append("vulkan-validationlayers")
    if not packages:
        return True
    try:
        install_debian(packages, why="no Vulkan device was found" if not found else "Vulkan's validation layer is missing")
    except SetupError as error:
        say(str(error))
    found = found or vulkan_device_count() > 0
    if not found:
        say("going on without Vulkan, with the CPU reference: right, but slow.")
    return found


def vulkan_device_count():
    status, output = quiet([sys.executable, "-c", PROBE], timeout=60)
    count = output.strip().splitlines()[-1:] if status == 0 else []
    return int(count[0]) if count and count[0].isdigit() else 0


def has_validation_layer():
    folders = [Path(folder) / "vulkan" / "explicit_layer.d" for folder in ("/usr/share", "/usr/local/share", "/etc")]
    sdk = os.environ.get("VULKAN_SDK")
    if sdk:
        folders += [Path(sdk) / "share" / "vulkan" / "explicit_layer.d", Path(sdk) / "Bin"]
    return any((folder / "VkLayer_khronos_validation.json").exists() for folder in folders)


def set_up_display():
    """Xvfb, xdotool and GLFW's libraries for the tests of the window; where they cannot be installed, those tests are skipped."""
    missing = missing_for_display()
    if not missing:
        return
    try:
        install_debian(missing, why="the tests of the window need a display without a screen")
    except SetupError as error:
        say(str(error))
        say("going on without the tests of the window.")


def missing_for_display():
    """Debian's names of what is not there; nothing on other systems than Linux, where those tests do not run."""
    if not sys.platform.startswith("linux"):
        return []
    libraries = [name for name in DISPLAY_NEEDS.values() if ".so." in name]
    status, output = quiet([sys.executable, "-c", LOADABLE, *libraries], timeout=60)
    loadable = set(output.split()) if status == 0 else set()
    return [package for package, needed in DISPLAY_NEEDS.items() if needed not in loadable and not shutil.which(needed)]


def install_debian(packages, why):
    """Installs with apt on Debian and Ubuntu, as root or where sudo asks nothing. Raises SetupError with the line to type."""
    if not (Path("/etc/debian_version").exists() and shutil.which("apt-get")):
        raise SetupError("%s.\nTry: %s" % (why, advice(packages)))
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    line = "sudo apt-get install -y " + " ".join(packages)
    if as_root and quiet(["sudo", "-n", "true"], timeout=20)[0] != 0:
        raise SetupError("%s.\nTry: %s" % (why, line))
    say("installing %s with apt ..." % " ".join(packages))
    apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]
    install = [*apt, "install", "-y", "--no-install-recommends", *packages]
    if quiet(install)[0] == 0:
        return
    quiet([*apt, "update"])  # the list of packages may be missing or old
    status, output = quiet(install)
    if status:
        raise SetupError(
            "%s, and apt could not install %s:\n%s\nTry: %s" % (why, " ".join(packages), telling_lines(output), line)
        )


def advice(packages):
    if sys.platform == "darwin":
        return "brew install vulkan-loader molten-vk"
    if os.name == "nt":
        return "install the newest driver of your graphics card: it brings Vulkan"
    if packages == ["vulkan-validationlayers"]:
        return "install your system's package of Vulkan's validation layers; until then those tests are skipped"
    if set(packages) <= set(DISPLAY_NEEDS):
        return "install %s with your system's package tool" % ", ".join(DISPLAY_NEEDS[package] for package in packages)
    if packages[0].startswith("python3"):
        return "install Python's venv and pip with your system's package tool"
    for tool, line in LINUX_DRIVERS.items():
        if shutil.which(tool):
            return "sudo " + line + " (or your graphics card's own driver)"
    return "install a Vulkan loader and a driver (Mesa's, or your graphics card's own)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
