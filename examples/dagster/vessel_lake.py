"""Dagster: each job of vessel-export as an asset with a partition a day, checks from the receipts, and a sensor for late data.

Set what vessel-export itself needs (QUERY_BASE_URL, LAKE_URL, JOBS_DIR, …) in the environment of the code location, and:

VESSEL_EXPORT        the command, "vessel-export" by default
VESSEL_EXPORT_JOBS   names of jobs, separated by commas, "measurements" by default
VESSEL_EXPORT_SINCE  the first UTC date, such as 2026-01-01
VESSEL_EXPORT_LOOK_BACK_DAYS  how far the sensor looks back for late data, 14 by default
VESSEL_EXPORT_RETRIES  how often a failed partition is tried again, 2 by default: a retry does only the rest
"""

import json
import os
import shlex
import subprocess
from datetime import timedelta

import dagster as dg

COMMAND = shlex.split(os.environ.get("VESSEL_EXPORT", "vessel-export"))
JOBS = os.environ.get("VESSEL_EXPORT_JOBS", "measurements").split(",")
DAYS = dg.DailyPartitionsDefinition(start_date=os.environ.get("VESSEL_EXPORT_SINCE", "2026-01-01"))
LOOK_BACK_DAYS = os.environ.get("VESSEL_EXPORT_LOOK_BACK_DAYS", "14")
RETRIES = int(os.environ.get("VESSEL_EXPORT_RETRIES", "2"))

# What a vessel-day may be without anything having failed: it is not overwritten, or is exported by somebody else.
HELD_BACK = {"refused", "waiting", "running", "not-due"}


def vessel_export(*words: str) -> dict:
    """The JSON of a command. Exit code 1 says that a vessel-day is not as it should be: the JSON says which."""
    ran = subprocess.run([*COMMAND, *words, "--json"], stdout=subprocess.PIPE, text=True)
    if ran.returncode not in (0, 1) or not ran.stdout:
        raise dg.Failure(f"vessel-export {words[0]} ended with {ran.returncode}: its log says why")
    return json.loads(ran.stdout)


def name_of(day: dict) -> str:
    said = day.get("message") or day.get("code")
    return f"{day['job']}/{day['vessel']}/{day['date']}: {day['state']}" + (f", {said}" if said else "")


class Export(dg.Config):
    late_data: bool = False
    """Compare the day with its source and export what has changed; otherwise days that are done are left alone."""


def asset_of(job: str) -> dg.AssetsDefinition:
    key = dg.AssetKey(["vessels", job.replace("-", "_")])

    @dg.asset(
        key=key,
        partitions_def=DAYS,
        group_name="vessels",
        check_specs=[
            dg.AssetCheckSpec("complete", asset=key, description="every vessel-day has a receipt, and none was refused"),
            dg.AssetCheckSpec("verified", asset=key, description="receipts and objects agree with the service"),
        ],
        retry_policy=dg.RetryPolicy(max_retries=RETRIES, delay=300),
        output_required=False,
    )
    def export(context: dg.AssetExecutionContext, config: Export):
        window = context.partition_time_window
        days = ["--from", f"{window.start:%Y-%m-%d}", "--to", f"{window.start + timedelta(days=1):%Y-%m-%d}"]
        words = ["reconcile", job, "--run"] if config.late_data else ["run", job]
        exported = vessel_export(*words, *days)["days"]

        failed = [day for day in exported if day.get("code") and day["state"] not in HELD_BACK]
        if failed:
            raise dg.Failure("; ".join(map(name_of, failed[:20])), metadata={"failed": len(failed)})

        covered = vessel_export("status", job, *days)["days"]
        bad = [day for day in covered if day["state"] not in ("published", "empty", "not-asked-for")]
        verified = vessel_export("verify", job, *days)
        findings = verified["findings"]
        yield dg.AssetCheckResult(
            check_name="complete",
            passed=bool(covered) and not bad,
            metadata={"vessel_days": len(covered), "not_complete": dg.MetadataValue.json([name_of(day) for day in bad])},
        )
        yield dg.AssetCheckResult(
            check_name="verified",
            passed=not findings,
            metadata={"findings": dg.MetadataValue.json(findings)},
        )
        # What is not there was not materialized: the partition stays missing.
        if any(day["state"] in ("published", "empty") for day in covered):
            yield dg.MaterializeResult(
                metadata={"rows": sum(day.get("rows") or 0 for day in covered), "vessel_days": len(covered)}
            )

    return export


def sensor_of(job: str, export: dg.AssetsDefinition) -> dg.SensorDefinition:
    @dg.sensor(name=f"late_data_of_{job.replace('-', '_')}", target=export, minimum_interval_seconds=6 * 3600)
    def late_data(context: dg.SensorEvaluationContext):
        findings = vessel_export("reconcile", job, "--days", LOOK_BACK_DAYS)["findings"]
        changed = [found for found in findings if found["state"] in ("changed", "would-shrink", "stale")]
        for date in sorted({found["date"] for found in changed}):
            of_date = sorted((found["vessel"], found["state"], found.get("now")) for found in changed if found["date"] == date)
            # One run for one change: the same findings have the same key.
            yield dg.RunRequest(
                run_key=f"{job} {date} {json.dumps(of_date, default=str)}",
                partition_key=date,
                run_config=dg.RunConfig(ops={export.op.name: Export(late_data=True)}),
            )

    return late_data


EXPORTS = {job: asset_of(job) for job in JOBS}
defs = dg.Definitions(
    assets=list(EXPORTS.values()),
    sensors=[sensor_of(job, export) for job, export in EXPORTS.items()],
    schedules=[
        dg.build_schedule_from_partitioned_job(
            dg.define_asset_job("nightly", selection=dg.AssetSelection.groups("vessels"), partitions_def=DAYS),
            hour_of_day=6,
            minute_of_hour=15,
        )
    ],
)
