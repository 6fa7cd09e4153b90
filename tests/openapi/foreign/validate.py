"""Validates one line after another: {"schema": …, "instance": …} in, what is wrong out."""

from __future__ import annotations

import json
import sys

from jsonschema import Draft202012Validator

for line in sys.stdin:
    task = json.loads(line)
    try:
        Draft202012Validator.check_schema(task["schema"])
        validator = Draft202012Validator(task["schema"])
        problems = [error.message for error in validator.iter_errors(task["instance"])]
    except Exception as error:  # noqa: BLE001 - whoever asked is told
        problems = [repr(error)]
    print(json.dumps(problems), flush=True)  # noqa: T201
