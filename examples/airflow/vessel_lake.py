"""Airflow: a night of each job of vessel-export by exit code and --json, and a look-back for late data.

Set what vessel-export itself needs (QUERY_BASE_URL, LAKE_URL, JOBS_DIR, …) in the environment of the workers, and:

VESSEL_EXPORT        the command, "vessel-export" by default
VESSEL_EXPORT_JOBS   names of jobs, separated by commas, "measurements" by default
VESSEL_EXPORT_SINCE  the first UTC date, such as 2026-01-01
VESSEL_EXPORT_LOOK_BACK_DAYS  how far the look-back goes, 14 by default
VESSEL_EXPORT_RETRIES  how often a failed task is tried again, 3 by default: a retry does only the rest
"""

import json
import logging
import os
import shlex
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

COMMAND = shlex.split(os.environ.get("VESSEL_EXPORT", "vessel-export"))
JOBS = os.environ.get("VESSEL_EXPORT_JOBS", "measurements").split(",")
SINCE = datetime.fromisoformat(os.environ.get("VESSEL_EXPORT_SINCE", "2026-01-01")).replace(tzinfo=timezone.utc)
LOOK_BACK_DAYS = os.environ.get("VESSEL_EXPORT_LOOK_BACK_DAYS", "14")
DEFAULTS = {
    "retries": int(os.environ.get("VESSEL_EXPORT_RETRIES", "3")),
    "retry_delay": timedelta(minutes=10),
}

# What a look-back finds and does not export.
NOT_EXPORTED = ("would-shrink", "refused", "disagree", "unreadable")

log = logging.getLogger(__name__)


def vessel_export(*words: str) -> dict:
    """The JSON of a command that exports.

    Exit code 0: all is well. 1: a vessel-day failed, was refused or waits, and the JSON says which; another try helps unless
    all of them were refused. 2: the settings are wrong, and no other try helps. Others (130, a kill): another try continues.
    """
    ran = subprocess.run([*COMMAND, *words, "--json"], stdout=subprocess.PIPE, text=True)
    if ran.returncode == 2:
        raise AirflowFailException(f"vessel-export {words[0]}: the settings are wrong; its log says which")
    if ran.returncode not in (0, 1) or not ran.stdout:
        raise AirflowException(f"vessel-export {words[0]} ended with {ran.returncode}; its log says why")
    result = json.loads(ran.stdout)
    found = [found for found in result.get("findings", []) if found["state"] in NOT_EXPORTED]
    bad = [day for day in result["days"] if day.get("code")] + found
    for day in bad:
        log.error("%s/%s/%s: %s, %s", day["job"], day["vessel"], day["date"], day["state"], day.get("message"))
    if ran.returncode == 1:
        names = ", ".join(f"{day['job']}/{day['vessel']}/{day['date']} {day['state']}" for day in bad[:20])
        is_refused = bool(bad) and all(day["state"] in ("refused", "would-shrink") for day in bad)
        raise (AirflowFailException if is_refused else AirflowException)(f"not exported: {names}")
    return result


@dag(schedule="15 6 * * *", start_date=SINCE + timedelta(days=1), catchup=True, max_active_runs=4, default_args=DEFAULTS)
def vessel_lake():
    """Each run exports the UTC day before it."""
    for job in JOBS:

        @task(task_id=f"export_{job}")
        def export(job: str, data_interval_end=None) -> dict:
            day = data_interval_end.date() - timedelta(days=1)
            result = vessel_export("run", job, "--from", f"{day}", "--to", f"{day + timedelta(days=1)}")
            return {"rows": result["rows"], "vessel_days": result["vesselDays"]}

        export(job)


@dag(schedule="45 7 * * *", start_date=SINCE + timedelta(days=1), catchup=False, max_active_runs=1, default_args=DEFAULTS)
def vessel_lake_late_data():
    """Compares the last days with their source, and exports again what has changed."""
    for job in JOBS:

        @task(task_id=f"look_back_{job}")
        def look_back(job: str) -> dict:
            result = vessel_export("reconcile", job, "--days", LOOK_BACK_DAYS, "--run")
            return {"findings": len(result["findings"]), "exported": sum(day["exported"] for day in result["days"])}

        look_back(job)


vessel_lake()
vessel_lake_late_data()
