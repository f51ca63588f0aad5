"""Options, help, the manual page, exit codes, and where output goes."""
import os
import re
import resource
import subprocess

from suite import expect, expect_narrow, strict

OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")


class UsageCases:
    def test_help(self):
        out = self.narrow("--help")
        for word in ("--selftest", "--load", "Exit codes", "Try"):
            expect(word in out, word)
        expect(out == self.text("-h"), "-h")
        expect(re.match(r"oclattn-probe \d+\.\d+\.\d+\n$", self.text("--version")), "version")

    def test_help_and_manual_agree(self):
        """The same options, exit codes and examples in both."""
        with open(self.options.manual) as file:
            manual = file.read().replace("\\-", "-").replace("\\fR", "").replace("\\fI", "").replace("\\fP", "")
        out = self.text("--help")
        in_help = set(re.findall(r"^  (--[a-z]+)", out, re.M))
        in_manual = set(OPTION.findall(manual.split(".SH OPTIONS")[1].split(".SH EXIT STATUS")[0]))
        expect(in_help == in_manual and len(in_help) > 10, "only in one: %s" % (in_help ^ in_manual))
        for option in in_manual:
            self.refuses_a_wrong_use(option, out)
        codes = re.findall(r"^\.B (\d)$", manual.split(".SH EXIT STATUS")[1].split(".SH")[0], re.M)
        expect(codes == re.findall(r"(\d) [a-z]", out.split("Exit codes:")[1]), codes)
        for example in manual.split(".SH EXAMPLES\n.nf\n")[1].split("\n.fi")[0].splitlines():
            expect(set(OPTION.findall(example)) <= in_help, "example: %s" % example)

    def refuses_a_wrong_use(self, option, out):
        """A flag refuses a value, the others the lack of one: so both are known to the parser."""
        takes_value = re.search(r"^  %s [A-Z]" % option, out, re.M)
        self.text(option if takes_value else option + "=x", code=2)
        expect("value" in self.stderr, "%s: %s" % (option, self.stderr))

    def test_manual_page(self):
        for tool in (["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"], ["groff", "-man", "-ww", "-z"]):
            try:
                result = subprocess.run(tool + [self.options.manual], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            except FileNotFoundError:
                continue
            expect(result.returncode == 0 and result.stderr == b"", result.stderr)
            return None
        return "neither man nor groff is installed"

    def test_usage(self):
        for words in (["--nonsense"], ["word"], ["--prop", "nonsense"], ["--list", "--raw"], ["--json", "--raw"],
                      ["--budget", "0"], ["--budget", "x"], ["--budget", "nan"], ["--timeout", "-1"],
                      ["--timeout", "inf"],
                      ["--shape", "1,2"], ["--shape", "1,1,1,1,1,1,9223372036854775808"], ["--load", "missing.json"],
                      ["--problem", "1"], ["--variant", "split"], ["--shape", "1,1,1,1,1,1,1"],
                      ["--budget", "3"], ["--selftest", "--load", "x"], ["--selftest", "--variant", "nonsense"],
                      ["--device", ""], ["--save", "/no/such/folder/x.json"]):
            out = self.text(*words, code=2)
            messages = [line for line in self.stderr.splitlines() if not line.startswith(" ")]
            expect(len(messages) == 1 and messages[0].startswith("oclattn-probe: "), "%s: %r" % (words, self.stderr))
            expect(not out or words[0] == "--save", "%s: stdout is %r" % (words, out))

    def test_no_such_device(self):
        document = self.json("--device", "no such device", code=3)
        expect(document["choice"]["device"] is None, "a device was chosen")
        expect("there are" in self.stderr, self.stderr)

    def test_words_that_are_no_text(self):
        """What users type is shown, and not obeyed by the terminal; the document stays whole."""
        for word in (b"\xff", b"\x1b[31mred\nline", b"\xc2\x9b1m", b"x" * 5000, b"%s%n",
                     "\N{RIGHT-TO-LEFT OVERRIDE}".encode()):
            for how in ([b"--device", word], [b"--load", word], [b"--save", b"/no/such/" + word], [b"--prop", word],
                        [word]):
                result = self.raw_run(how + [b"--list"] if how[0] == b"--device" else how)
                expect(result.returncode in (2, 3), "%r: %s" % (how, result.returncode))
                expect_narrow(result.stderr.decode("utf-8"))
                expect_narrow(result.stdout.decode("utf-8"))
            result = self.raw_run([b"--json", b"--device", word])
            expect(strict(result.stdout.decode("utf-8"))["choice"]["why"], word)
            for name in ("OCLATTN_DEVICE", "OCL_ICD_VENDORS"):
                result = self.raw_run([b"--raw"], **{name: word})
                lines = result.stdout.decode("utf-8").splitlines()
                expect(result.returncode == 3 and lines[1].startswith("choice.why ") and len(lines[1]) > 30, result)

    def raw_run(self, words, **env):
        environment = dict(os.environ, **self.alone())
        environment.update(env)
        return subprocess.run([self.options.probe.encode(), *words], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    # ---- where output goes ---------------------------------------------------------------------------------------

    def shell(self, command, **env):
        environment = dict(os.environ, OCLATTN_CACHE_DIR=self.cache, PROBE=self.options.probe)
        environment.update(env)
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_stdout_that_is_full(self):
        if not os.path.exists("/dev/full"):
            return "there is no /dev/full"
        for words in ("", "--json", "--raw", "--help"):
            result = self.shell('"$PROBE" %s > /dev/full' % words)
            expect(result.returncode == 4 and b"stdout" in result.stderr, "%s: %s" % (words, result))
        return None

    def test_stdout_that_is_closed(self):
        path = os.path.join(self.folder, "closed.json")
        for command in ('"$PROBE" --json >&-', '"$PROBE" --save %s --json >&-' % path,
                        '"$PROBE" --save %s --json >&- 2>&- <&-' % path):
            result = self.shell(command, **self.alone())
            expect(result.returncode == 4, "%s: %s" % (command, result))
        with open(path) as file:
            expect(file.read().startswith("{") and b"" == result.stdout, "the capture holds what was printed")
        self.json("--load", path)

    def test_reader_that_leaves(self):
        result = self.shell('"$PROBE" --all | head -1', **self.alone())
        expect(result.returncode == 0 and result.stderr == b"" and result.stdout.count(b"\n") == 1, result)

    def test_no_home(self):
        environment = self.alone()
        environment.update(OCLATTN_CACHE_DIR="", HOME="", XDG_CACHE_HOME="")
        self.json(**environment)
        result = self.shell('unset HOME XDG_CACHE_HOME OCLATTN_CACHE_DIR; "$PROBE"', **self.alone())
        expect(result.returncode == 0 and result.stderr == b"", result)

    def test_save_where_it_cannot_be(self):
        with open(os.path.join(self.folder, "a file"), "w"):
            pass
        for path in ("/no/such/folder/x", os.path.join(self.folder, "a file", "x"), self.folder, "/dev/full"):
            if path == "/dev/full" and not os.path.exists(path):
                continue
            self.text("--save", path, code=2, **self.alone())
            expect("--save" in self.stderr and path in self.stderr.replace("\n               ", " "), self.stderr)

    def test_save_to_a_full_disk(self):
        """No file may grow, which a process that ignores SIGXFSZ hears of as an error."""
        path = os.path.join(self.folder, "full.json")
        environment = dict(os.environ, **self.alone())
        result = subprocess.run([self.options.probe, "--save", path], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        expect(result.returncode == 2 and b"--save" in result.stderr, result)
        left = [name for name in os.listdir(self.folder) if name.startswith("full.json")]
        expect(left == [], left)
