"""Holds events of OpenLineage, one a line of stdin, against the classes of its own client: each facet has just what its class takes."""

import importlib
import inspect
import json
import pkgutil
import sys

from openlineage.client import generated
from openlineage.client.generated import base

CLASSES = {}
for module in pkgutil.iter_modules(generated.__path__):
    for _, member in inspect.getmembers(importlib.import_module(f"{generated.__name__}.{module.name}"), inspect.isclass):
        if hasattr(member, "_get_schema"):
            CLASSES[member._get_schema()] = member

facets = 0


def check(value):
    global facets
    if isinstance(value, dict):
        if "_schemaURL" in value:
            CLASSES[value["_schemaURL"]](**{name: own for name, own in value.items() if not name.startswith("_")})
            facets += 1
        for own in value.values():
            check(own)
    elif isinstance(value, list):
        for own in value:
            check(own)


events = [json.loads(line) for line in sys.stdin]
for event in events:
    check(event)
    base.RunEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        eventType=base.EventType(event["eventType"]),
        run=base.Run(**event["run"]),
        job=base.Job(**event["job"]),
        inputs=[base.InputDataset(**own) for own in event["inputs"]],
        outputs=[base.OutputDataset(**own) for own in event["outputs"]],
    )
print(json.dumps({"events": len(events), "facets": facets}))
