#!/usr/bin/env python3
"""Writes the node cases of the onnx package on PYTHONPATH:

    onnx_cases.py FOLDER

makes FOLDER/node/NAME/ with model.onnx and test_data_set_N/{input,output}_I.pb, as packages that have the data have them.
The package makes its inputs from numpy's generator, seeded for each case.
"""
import argparse
import sys

from onnx.backend.test import cmd_tools
from onnx.backend.test.case import node


def main():
    # The package's own writer, which would write the other kinds of cases.
    cmd_tools.model_test = node
    cmd_tools.generate_data(argparse.Namespace(output=sys.argv[1]))


if __name__ == '__main__':
    main()
