"""Does in a real instance of Dagster what somebody clicks: `materialize DATE` or `sensor`; prints what came of it as JSON."""

import json
import os
import sys

import dagster as dg

sys.path.insert(0, os.environ["EXAMPLE"])
from vessel_lake import defs  # noqa: E402

JOB = "nightly"


def result_of(instance, ran):
    checks, materialized = {}, []
    for event in ran.all_events:
        if event.event_type_value == "ASSET_CHECK_EVALUATION":
            evaluation = event.event_specific_data
            checks[evaluation.check_name] = {
                "passed": evaluation.passed,
                "metadata": {name: getattr(value, "value", None) for name, value in evaluation.metadata.items()},
            }
        if event.is_step_materialization:
            metadata = event.step_materialization_data.materialization.metadata
            materialized.append({name: value.value for name, value in metadata.items()})
    status = instance.get_run_by_id(ran.run_id).status.value
    failures = [str(event.event_specific_data.error) for event in ran.all_events if event.is_step_failure]
    return {"status": status, "checks": checks, "materialized": materialized, "failures": failures}


def run(instance, date, run_config=None, tags=None):
    job = defs.resolve_job_def(JOB)
    config = {"run_config": run_config} if run_config else {}
    ran = job.execute_in_process(
        partition_key=date, instance=instance, raise_on_error=False, tags=tags or {}, **config
    )
    return result_of(instance, ran)


with dg.DagsterInstance.get() as instance:
    command, *dates = sys.argv[1:]
    if command == "materialize":
        print(json.dumps(run(instance, dates[0])))
    else:
        [sensor] = [defs.resolve_sensor_def(name) for name in ["late_data_of_measurements"]]
        repository = defs.get_repository_def()
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        requests = sensor.evaluate_tick(context).run_requests
        ran = [run(instance, request.partition_key, request.run_config) for request in requests]
        keys = [request.run_key for request in requests]
        print(json.dumps({"dates": [request.partition_key for request in requests], "keys": keys, "runs": ran}))
