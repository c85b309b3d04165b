"""`measure.py FILE COMMAND…` runs it and writes to FILE what it used, its children included; ends as it ends."""

import json
import resource
import subprocess
import sys
import time

started = time.monotonic()
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as out:
    wall = (time.monotonic() - started) * 1000
    json.dump({"wallMs": wall, "cpuMs": (used.ru_utime + used.ru_stime) * 1000, "peakRssBytes": used.ru_maxrss * 1024}, out)
sys.exit(code if code >= 0 else 128 - code)
