"""A nightly export in an afternoon: requests and Polars, with its own reader of NDJSON. `polars_script.py DATE FOLDER HOURS_PER_PAGE`"""

import io
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import service

LINE = {"id": pl.String, "timestamp": pl.String, "value": pl.String}


def to_frame(body: bytes, names: pl.DataFrame) -> pl.DataFrame:
    # A column that is a number here and a text there is read as text, and cast.
    value = pl.col("value")
    long = value.cast(pl.Int64, strict=False)
    double = pl.when(long.is_null()).then(value.cast(pl.Float64, strict=False))
    return (
        pl.read_ndjson(io.BytesIO(body), schema=LINE)
        .rename({"id": "time_series_id"})
        .join(names, on="time_series_id", how="left", maintain_order="left")
        .select(
            pl.col("timestamp").str.to_datetime("%Y-%m-%dT%H:%M:%S%.6fZ", time_unit="us", time_zone="UTC"),
            "time_series_id",
            "id",
            long_value=long,
            double_value=double,
            json_value=pl.when(long.is_null() & double.is_null()).then(value),
        )
    )


def export(s, vessel: str, names: dict[str, str], date: str, folder: str, hours: int) -> None:
    known = pl.DataFrame({"time_series_id": list(names), "id": list(names.values())})
    bodies = service.pages(s, vessel, date, hours)
    frame = pl.concat([to_frame(body, known) for body in bodies if body])
    target = f"{folder}/vessel={vessel}/date={date}"
    os.makedirs(target, exist_ok=True)
    path = f"{target}/data.parquet"
    frame.sort("id", "timestamp").write_parquet(path + ".tmp", compression="zstd")
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
