#!/usr/bin/env python3
"""Compiles the library's kernels as the vendors of GPUs do, and holds what comes out to the gate."""
import argparse
import concurrent.futures
import os
import sys
import tempfile

import architectures
import compilers
import gate
import jobs
import parsers
import report

REPORT = os.path.join(compilers.FOLDER, "report.txt")
EXIT_WRONG, EXIT_USAGE = 1, 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorder", required=True, help="the program vendor_kernels of a build")
    parser.add_argument("--all", action="store_true", help="every kernel, not only those that CI compiles")
    parser.add_argument("--arch", action="append", help="this architecture only; may be repeated")
    parser.add_argument("--kernel", action="append", help="this kernel only; may be repeated")
    parser.add_argument("--update", action="store_true", help="compile all, and write the report anew")
    parser.add_argument("--report", default=REPORT, help="the report to compare with (default: %(default)s)")
    parser.add_argument("--clang", help="a clang with libclc (default: the newest clang-N)")
    parser.add_argument("--ptxas", help="NVIDIA's assembler (default: on PATH, else that of /usr/local/cuda)")
    parser.add_argument("--ocloc", help="Intel's compiler (default: on PATH)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at a time (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="print every line of the report")
    return parser.parse_args()


def is_in_short_run(job):
    """Of kernels made for speed, every tile with all that it may have to do (those of bf16 are the tiles of f16); of the
    others one architecture for each vendor."""
    if job.is_tiled:
        return "bf16" not in job.types and bool({"full", "decode", "every"} & set(job.switches))
    return job.architecture.name in ("sm_80", "gfx1100", "dg2")


def choose_jobs(options, all_jobs):
    chosen = all_jobs
    if not (options.all or options.update):
        chosen = [job for job in chosen if is_in_short_run(job)]
    if options.kernel:
        chosen = [job for job in chosen if job.kernel in options.kernel]
    return chosen


class Outcome:
    """What became of a job."""

    def __init__(self, job, used=None, error=None):
        self.job, self.used, self.faults = job, used, [error] if error else []
        if used:
            used.local_bytes += job.local_arguments
            self.groups = architectures.groups_per_unit(job.architecture, job.group, used)
            self.faults = gate.faults(job, used, self.groups)

    @property
    def line(self):
        return report.line(self.job, self.used, self.groups) if self.used else None


def compile_job(job, compiler):
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Outcome(job, compiler.compile(job.architecture, job, job.source, folder))
        except (compilers.Failed, parsers.NotUnderstood) as error:
            return Outcome(job, error="does not compile: %s" % error)


def compile_all(chosen, found, count):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda job: compile_job(job, found[job.architecture.vendor]), chosen))


def skip(what, why):
    print("SKIP %s: %s" % (what, why), flush=True)


def usable(names, found):
    """The architectures that can be compiled for; the others are said to be skipped."""
    left = []
    for vendor, compiler in found.items():
        theirs = [n for n in names if architectures.BY_NAME[n].vendor == vendor]
        if theirs and isinstance(compiler, str):
            skip("%s (%s)" % (vendor, " ".join(theirs)), compiler)
            continue
        for name in theirs:
            why = compiler.why_not(architectures.BY_NAME[name])
            if why:
                skip("%s %s" % (vendor, name), why)
            else:
                left.append(name)
    return left


def show_faults(outcomes):
    bad = [outcome for outcome in outcomes if outcome.faults]
    for outcome in bad:
        print("FAIL %s: %s" % (" ".join(outcome.job.key), "; ".join(outcome.faults)))
        print("     options: %s" % " ".join(outcome.job.options))
    return len(bad)


def compare_with_report(options, outcomes, versions, names):
    """Says where the kept report no longer holds, as far as the same compilers are here. That is no fault of a kernel."""
    if not os.path.exists(options.report):
        skip("comparing with " + options.report, "it is not there; --update writes it")
        return
    kept_versions, kept = report.read(options.report)
    vendors = set()
    for vendor, version in versions.items():
        if kept_versions.get(vendor) == version:
            vendors.add(vendor)
        else:
            skip("the report's lines for " + vendor, "they are of %s, and here is %s" %
                 (kept_versions.get(vendor, "no compiler"), version))
    made = [outcome.line for outcome in outcomes if outcome.used and outcome.job.architecture.vendor in vendors]
    complete = options.all and not options.kernel
    compared = {name for name in names if architectures.BY_NAME[name].vendor in vendors}
    found = report.differences(kept, made, compared if complete else None)
    if found:
        skip("comparing with the report", "it is out of date in %d lines; tools/vendor-compile/run.sh --update writes it "
             "anew" % len(found))
        print("\n".join(found))


def main():
    options = arguments()
    found = compilers.find_compilers(options.clang, options.ptxas, options.ocloc)
    unknown = [name for name in options.arch or [] if name not in architectures.BY_NAME]
    if unknown or (options.update and (options.arch or options.kernel)):
        print("vendor_compile: " + ("unknown architecture " + " ".join(unknown) if unknown else
                                    "--update compiles everything"), file=sys.stderr)
        return EXIT_USAGE
    names = usable(options.arch or list(architectures.BY_NAME), found)
    versions = {vendor: compiler.version for vendor, compiler in found.items() if not isinstance(compiler, str)}
    for vendor, version in versions.items():
        print("%s: %s" % (vendor, version))
    if not names:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        chosen = choose_jobs(options, jobs.make_jobs(jobs.record(options.recorder, names), folder))
        outcomes = compile_all(chosen, found, options.jobs)
    if options.verbose:
        print("\n".join(outcome.line for outcome in outcomes if outcome.used))
    bad = show_faults(outcomes)
    if options.update:
        if len(names) < len(architectures.ARCHITECTURES):
            print("vendor_compile: the report needs every compiler", file=sys.stderr)
            return EXIT_USAGE
        report.write(options.report, versions, [outcome.line for outcome in outcomes if outcome.used])
    else:
        compare_with_report(options, outcomes, versions, names)
    portable = sum(outcome.job.is_portable for outcome in outcomes)
    print("%d kernels compiled for %d architectures, %d at fault; %d of them are portable ones, which may spill" %
          (len(outcomes), len(names), bad, portable))
    return EXIT_WRONG if bad else 0


if __name__ == "__main__":
    sys.exit(main())
