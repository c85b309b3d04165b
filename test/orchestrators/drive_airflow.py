"""Runs a DAG of the example in Airflow itself, `DAG_ID DATE`, and prints the states of run and tasks, and what they gave, as JSON."""

import json
import os
import sys
from datetime import datetime, timezone

sys.path.insert(0, os.environ["EXAMPLE"])
import vessel_lake as example  # noqa: E402

dags = {name: getattr(example, name)() for name in ("vessel_lake", "vessel_lake_late_data")}
dag_id, date = sys.argv[1:]
ran = dags[dag_id].test(logical_date=datetime.fromisoformat(f"{date}T06:15:00").replace(tzinfo=timezone.utc))
tasks = {}
for instance in ran.get_task_instances():
    tasks[instance.task_id] = {"state": instance.state, "value": instance.xcom_pull(task_ids=instance.task_id)}
print(json.dumps({"state": ran.state, "tasks": tasks}))
