"""A nightly export in an afternoon: requests, orjson, pyarrow. `pyarrow_script.py DATE FOLDER HOURS_PER_PAGE`"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import service
from pyarrow_table import SCHEMA, to_table

def export(s, vessel: str, names: dict[str, str], date: str, folder: str, hours: int) -> None:
    target = f"{folder}/vessel={vessel}/date={date}"
    os.makedirs(target, exist_ok=True)
    path = f"{target}/data.parquet"
    with pq.ParquetWriter(path + ".tmp", SCHEMA, compression="zstd") as writer:
        for body in service.pages(s, vessel, date, hours):
            writer.write_table(to_table(body, names))
    os.replace(path + ".tmp", path)


def main(date: str, folder: str, hours: str) -> None:
    s = service.session()
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(export, s, vessel, names, date, folder, int(hours))
            for vessel, names in service.series_by_vessel(s).items()
        ]
        for job in jobs:
            job.result()


main(*sys.argv[1:])
