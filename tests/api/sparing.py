"""A hook of schemathesis: who asks, and the bystander, are not what a request takes away.

schemathesis learns names from answers and deletes what it has seen. Once it has deleted its own user, all answers are 401, and nothing is
tested any more. So where a request changes something, the names of `WARREN_SPARED` (JSON: the name, and what is asked for instead) are
replaced.
"""

import json
import os
from urllib.parse import quote, unquote

import schemathesis

SPARED: dict[str, str] = json.loads(os.environ["WARREN_SPARED"])
# What most other requests ask about, which is spared only where all of it would go.
KEPT: dict[str, str] = SPARED | json.loads(os.environ["WARREN_KEPT"])
REMOVALS = {"/api/vhosts/{vhost}", "/api/users/{user}", "/api/users/bulk-delete", "/api/connections/{connection}", "/api/connections/username/{username}"}


def spared(value, names):
    """The value without any of these names, as a string or as the name of a member."""
    match value:
        case str():
            return names.get(value, value)
        case list():
            return [spared(each, names) for each in value]
        case dict():
            return {spared(key, names): spared(each, names) for key, each in value.items()}
        case _:
            return value


@schemathesis.hook
def before_call(context, case, kwargs):
    """Called before each request, of all phases."""
    if case.method.upper() == "GET":
        return
    names = KEPT if case.operation.path in REMOVALS and case.method.upper() in ("DELETE", "POST") else SPARED
    for name, value in (case.path_parameters or {}).items():
        # Some come percent-encoded.
        if isinstance(value, str) and unquote(value) in names:
            case.path_parameters[name] = quote(names[unquote(value)], safe="")
    case.body = spared(case.body, names)
