#!/usr/bin/env python3
"""Runs oclattn-probe as a user would, on this machine, on captures, and beside a driver that lies and breaks down.

    run_probe_tests.py --part device|host --probe PATH --run PATH --fake PATH --layer PATH --kernels FOLDER
                       --captures FOLDER --manual FILE --list-devices PATH [--only WORD]

Part "device" asks about the chosen device, part "host" about everything else, so once is enough.

Standard library only. The device is OCLATTN_DEVICE's, or the tool's own choice.
"""
import argparse
import os
import sys
import tempfile

from cases_bench import BenchCases
from cases_captures import CaptureCases
from cases_clinfo import ClinfoCases
from cases_drivers import DriverCases
from cases_lies import LieCases
from cases_machine import MachineCases
from cases_selftest import SelftestCases
from cases_usage import UsageCases
from suite import Suite


class ProbeSuite(UsageCases, MachineCases, ClinfoCases, CaptureCases, DriverCases, LieCases, SelftestCases, BenchCases,
                 Suite):
    pass


def main():
    parser = argparse.ArgumentParser()
    for name in ("probe", "run", "fake", "layer", "kernels", "captures", "manual", "list-devices"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--part", required=True, choices=("device", "host"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.real = os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors"
    with tempfile.TemporaryDirectory() as folder:
        return ProbeSuite(options, folder).run_all()


if __name__ == "__main__":
    sys.exit(main())
