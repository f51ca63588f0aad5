"""What the cases of oclattn-probe share: running the tool, folders of drivers, and the walk through the cases."""
import functools
import json
import os
import re
import subprocess
import unicodedata

COLUMNS = 100
# Seconds for a driver to answer: where one is made to hang, and elsewhere.
SHORT_TIME, LONG_TIME = 2, 3600


def no_constant(word):
    raise ValueError("%s is no strict JSON" % word)


def strict(text):
    return json.loads(text, parse_constant=no_constant)


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def expect_narrow(out):
    """Nothing that a terminal obeys, and nothing beyond its last column."""
    for line in out.split("\n"):
        expect(line == "" or line.isprintable(), "control characters: %r" % line)
        expect(columns(line) <= COLUMNS, "%d columns: %s" % (columns(line), line))


def as_raw(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(as_raw(item) for item in value)
    return str(value)


def chosen_device(document):
    platform, device = map(int, document["choice"]["device"].split(":"))
    return document["platforms"][platform]["devices"][device]


def on_device(case):
    """Marks a case that asks about the chosen device, so that it runs once for each device; others run once."""
    case.on_device = True
    return case


class Suite:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.failed = self.done = self.skipped = 0
        self.empty = self.make_vendors("no_vendors", [])
        self.cache = os.path.join(folder, "cache")

    def make_vendors(self, name, libraries):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        for file, library in libraries:
            with open(os.path.join(path, file), "w") as icd:
                icd.write(library + "\n")
        return path

    @functools.cached_property
    def real(self):
        """What the drivers of this machine are by themselves, as the tool sees them."""
        return self.json(code=None, OCLATTN_DEVICE="", OCL_ICD_VENDORS=self.options.real)

    def real_vendors(self):
        """This machine's .icd files, less those that name no driver or one without platforms: [(name, library)]."""
        sound = {vendor["file"] for vendor in self.real["loader"]["vendors"] if vendor["problem"] is None}
        found = []
        for name in sorted(os.listdir(self.options.real)) if os.path.isdir(self.options.real) else []:
            if name in sound:
                with open(os.path.join(self.options.real, name)) as icd:
                    found.append((name, icd.readline().strip()))
        return found

    def run(self, *words, tool=None, **env):
        environment = dict(os.environ, OCLATTN_CACHE_DIR=self.cache)
        environment.update(env)
        if tool is None and "--timeout" not in words:
            words += ("--timeout", LONG_TIME)  # a busy machine is no fault
        return subprocess.run([tool or self.options.probe, *map(str, words)], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)

    def text(self, *words, code=0, tool=None, **env):
        """What it prints. code: the exit code that it must have; None: any."""
        result = self.run(*words, tool=tool, **env)
        out, err = result.stdout.decode("utf-8"), result.stderr.decode("utf-8")
        expect(code in (None, result.returncode), "%s: exit code %d, expected %s\n%s%s" %
               (" ".join(map(str, words)), result.returncode, code, out[-2000:], err))
        self.stderr = err
        if tool is None:
            expect_narrow(err)
        return out

    def json(self, *words, code=0, **env):
        document = strict(self.text("--json", *words, code=code, **env))
        expect(document["schema_version"] == 1, "schema_version")
        return document

    def narrow(self, *words, **how):
        """text(), for people."""
        out = self.text(*words, **how)
        expect_narrow(out)
        expect(not re.search(r"\b(nan|inf)\b", out), "%s shows nan or inf" % (words,))
        return out

    def alone(self, name="fake", **env):
        """The environment for the fake driver alone, with what it is told."""
        vendors = self.make_vendors(name, [("fake.icd", self.options.fake)])
        return dict(env, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")

    def beside_fake(self, name="beside_fake"):
        """A folder with the fake driver first and this machine's real ones after it."""
        return self.make_vendors(name, [("00_fake.icd", self.options.fake)] + self.real_vendors())

    def cases(self):
        return [(name[5:], getattr(self, name)) for name in dir(self) if name.startswith("test_")]

    def run_all(self):
        for name, case in self.cases():
            if self.options.only not in name or hasattr(case, "on_device") != (self.options.part == "device"):
                continue
            self.done += 1
            try:
                reason = case()
            except Exception as problem:  # whatever it is, the other cases run
                self.failed += 1
                print("FAILED %s: %s: %s" % (name, type(problem).__name__, problem))
                continue
            if reason:
                self.skipped += 1
                print("SKIP %s: %s" % (name, reason))
        print("probe: %d cases, %d failed, %d skipped" % (self.done, self.failed, self.skipped))
        return 1 if self.failed else 0
