"""
The same with dlt: a resource that yields Arrow tables, which its documentation names as the fastest, Parquet files in a folder.
`dlt_pipeline.py DATE FOLDER HOURS_PER_PAGE`
"""

import os
import sys

import dlt
import pyarrow as pa
import service
from dlt.destinations import filesystem
from pyarrow_table import to_table


@dlt.resource(name="readings", write_disposition="append", parallelized=True)
def readings(s, vessels: dict[str, dict[str, str]], date: str, hours: int):
    @dlt.defer
    def page(vessel: str, body: bytes) -> pa.Table:
        table = to_table(body, vessels[vessel])
        return table.append_column("vessel", pa.array([vessel] * len(table), pa.string()))

    for vessel in vessels:
        for body in service.pages(s, vessel, date, hours):
            yield page(vessel, body)


def main(date: str, folder: str, hours: str) -> None:
    s = service.session()
    pipeline = dlt.pipeline(
        pipeline_name="vessels",
        pipelines_dir=os.path.join(folder, "..", "dlt-state"),
        destination=filesystem(bucket_url="file://" + os.path.abspath(folder)),
        dataset_name="lake",
        progress=None,
    )
    info = pipeline.run(readings(s, service.series_by_vessel(s), date, int(hours)), loader_file_format="parquet")
    info.raise_on_failed_jobs()


main(*sys.argv[1:])
