"""Readers of Parquet and of Delta tables that run in this process: `readers.py ENGINE`, then questions as in common.py."""
import datetime
import sys

import pyarrow as pa

from common import NUMBERS, quoted, serve

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)

TOTALS = """SELECT vessel, "date", time_series_id, count(*) AS n, sum(long_value) AS longs, sum(double_value) AS doubles,
  count(json_value) AS texts, min("timestamp") AS first, max("timestamp") AS last FROM t GROUP BY vessel, "date", time_series_id"""
WHOLE = """SELECT count(*) AS n, count(DISTINCT time_series_id) AS series, min("timestamp") AS first, max("timestamp") AS last,
  min(long_value) AS least_long, max(long_value) AS most_long, min(time_series_id) AS least_series FROM t"""


def storage_options(s3):
    """As delta-rs, Polars and others that are written in Rust name them."""
    if s3 is None:
        return None
    return {
        "AWS_ENDPOINT_URL": s3["endpoint"],
        "AWS_REGION": s3["region"],
        "AWS_ACCESS_KEY_ID": s3["accessKeyId"],
        "AWS_SECRET_ACCESS_KEY": s3["secretAccessKey"],
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }


def python_value(where):
    kind, value = where["kind"], where["value"]
    if kind == "date":
        return datetime.date.fromisoformat(value)
    if kind == "time":
        return EPOCH + datetime.timedelta(microseconds=int(value))
    return NUMBERS.get(kind, str)(value)


def sql_of(asked, literal):
    what = asked["what"]
    if what == "count":
        where = asked["where"]
        return f'SELECT count(*) AS n FROM t WHERE "{where["column"]}" {where["op"]} {literal(where)}'
    return {"totals": TOTALS, "whole": WHOLE, "rows": "SELECT * FROM t"}[what]


def standard_literal(where):
    kind, value = where["kind"], where["value"]
    if kind == "long":
        return f"CAST('{value}' AS BIGINT)"
    if kind == "double":
        return f"CAST('{value}' AS DOUBLE)"
    if kind == "date":
        return f"DATE '{value}'"
    return quoted(value)


class DuckDb:
    """With its own extensions, which lie in wheels."""

    def __init__(self):
        import duckdb
        import duckdb_extension_delta
        import duckdb_extension_httpfs

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'; SET threads = 2; SET autoinstall_known_extensions = false")
        for module in (duckdb_extension_httpfs, duckdb_extension_delta):
            self.connection.execute(f"LOAD {quoted(extension_path(module))}")

    def literal(self, where):
        if where["kind"] == "time":
            return f"make_timestamptz({where['value']})"
        return standard_literal(where)

    def read(self, asked):
        con, s3, url = self.connection, asked.get("s3"), quoted(asked["url"])
        if s3 is not None:
            endpoint = s3["endpoint"].removeprefix("http://")
            con.execute(
                f"""CREATE OR REPLACE SECRET s (TYPE s3, ENDPOINT '{endpoint}', REGION '{s3["region"]}', URL_STYLE 'path',
                USE_SSL false, KEY_ID '{s3["accessKeyId"]}', SECRET '{s3["secretAccessKey"]}')"""
            )
        if asked["layout"] == "plain":
            glob = quoted(asked["url"] + "/*/*/*.parquet")
            source = f"read_parquet({glob}, hive_partitioning = true, union_by_name = true)"
        elif "version" in asked:
            source = f"d{asked['version']}_{abs(hash(url))}"
            con.execute(f"ATTACH IF NOT EXISTS {url} AS {source} (TYPE delta, VERSION {asked['version']})")
        else:
            source = f"delta_scan({url})"
        con.execute(f"CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM {source}")
        return con.execute(sql_of(asked, self.literal)).to_arrow_table()


def extension_path(module):
    import glob
    import os

    return glob.glob(os.path.dirname(module.__file__) + "/**/*.duckdb_extension", recursive=True)[0]


def delta_table(asked):
    from deltalake import DeltaTable

    return DeltaTable(asked["url"], version=asked.get("version"), storage_options=storage_options(asked.get("s3")))


class DeltaRs:
    """By the query engine that comes with it."""

    def read(self, asked):
        from deltalake import QueryBuilder

        return pa.table(
            QueryBuilder().register("t", delta_table(asked)).execute(sql_of(asked, fusion_literal)).read_all()
        )


def fusion_literal(where):
    if where["kind"] == "time":
        return f"""arrow_cast({where["value"]}, 'Timestamp(Microsecond, Some("UTC"))')"""
    return standard_literal(where)


class Polars:
    def frame(self, asked):
        import polars as pl

        options = storage_options(asked.get("s3"))
        if asked["layout"] == "delta":
            return pl.scan_delta(asked["url"], version=asked.get("version"), storage_options=options)
        extra = {"missing_columns": "insert", "extra_columns": "ignore", "storage_options": options}
        return pl.scan_parquet(asked["url"] + "/*/*/*.parquet", hive_partitioning=True, **extra)

    def read(self, asked):
        import polars as pl

        frame, what = self.frame(asked), asked["what"]
        times = [pl.min("timestamp").alias("first"), pl.max("timestamp").alias("last")]
        if what == "totals":
            sums = [pl.sum("long_value").alias("longs"), pl.sum("double_value").alias("doubles")]
            counts = [pl.len().alias("n"), *sums, pl.count("json_value").alias("texts")]
            frame = frame.group_by("vessel", "date", "time_series_id").agg(*counts, *times)
        elif what == "whole":
            longs = [pl.min("long_value").alias("least_long"), pl.max("long_value").alias("most_long")]
            frame = frame.select(
                pl.len().alias("n"), pl.n_unique("time_series_id").alias("series"), *times, *longs,
                pl.min("time_series_id").alias("least_series"),
            )  # fmt: skip
        elif what == "count":
            frame = frame.filter(compare(pl.col(asked["where"]["column"]), asked["where"])).select(pl.len().alias("n"))
        return frame.collect().to_arrow()


def compare(column, where, value=None):
    value = python_value(where) if value is None else value
    operations = {"=": column.__eq__, ">": column.__gt__, ">=": column.__ge__, "<": column.__lt__}
    return operations[where["op"]](value)


class PyArrow:
    """Its own scanner, over files or over those that delta-rs names."""

    def dataset(self, asked):
        import pyarrow.dataset as ds
        from pyarrow import fs

        if asked["layout"] == "delta":
            return delta_table(asked).to_pyarrow_dataset()
        s3, url = asked.get("s3"), asked["url"]
        place = None
        if s3 is not None:
            url = url.removeprefix("s3://")
            place = fs.S3FileSystem(
                access_key=s3["accessKeyId"], secret_key=s3["secretAccessKey"], region=s3["region"],
                endpoint_override=s3["endpoint"].removeprefix("http://"), scheme="http", force_virtual_addressing=False,
            )  # fmt: skip
        partitions = ds.partitioning(pa.schema([("vessel", pa.string()), ("date", pa.date32())]), flavor="hive")
        files = ds.dataset(url, format="parquet", partitioning=partitions, filesystem=place)
        schema = pa.unify_schemas([*(file.physical_schema for file in files.get_fragments()), files.schema])
        return files.replace_schema(schema)

    def read(self, asked):
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        data, what = self.dataset(asked), asked["what"]
        if what == "rows":
            return data.to_table()
        if what == "count":
            column = asked["where"]["column"]
            value = pa.scalar(python_value(asked["where"]), data.schema.field(column).type)
            return pa.table({"n": [data.count_rows(filter=compare(ds.field(column), asked["where"], value))]})
        table = data.to_table()
        times = [("timestamp", "min"), ("timestamp", "max")]
        if what == "totals":
            sums = [([], "count_all"), ("long_value", "sum"), ("double_value", "sum"), ("json_value", "count")]
            found = table.group_by(["vessel", "date", "time_series_id"]).aggregate([*sums, *times])
            names = ["vessel", "date", "time_series_id", "n", "longs", "doubles", "texts", "first", "last"]
            return found.rename_columns(names)
        both = [pc.min_max(table[name]) for name in ("timestamp", "long_value", "time_series_id")]
        cells = {
            "n": pa.array([data.count_rows()]),
            "series": pa.array([pc.count_distinct(table["time_series_id"]).as_py()]),
        }
        named = [("first", "last"), ("least_long", "most_long"), ("least_series", None)]
        for bounds, (least, most) in zip(both, named):
            for name, end in ((least, "min"), (most, "max")):
                if name is not None:
                    cells[name] = pa.array([bounds[end].as_py()], bounds[end].type)
        return pa.table(cells)


class DataFusion:
    def read(self, asked):
        import datafusion

        context = datafusion.SessionContext()
        s3 = asked.get("s3")
        if asked["layout"] == "delta":
            context.register_table("t", delta_table(asked))
        else:
            if s3 is not None:
                from datafusion.object_store import AmazonS3

                bucket = asked["url"].split("/")[2]
                store = AmazonS3(
                    bucket_name=bucket, region=s3["region"], endpoint=s3["endpoint"], allow_http=True,
                    access_key_id=s3["accessKeyId"], secret_access_key=s3["secretAccessKey"],
                )  # fmt: skip
                context.register_object_store("s3://", store, bucket)
            partitions = [("vessel", pa.string()), ("date", pa.date32())]
            context.register_listing_table("t", asked["url"] + "/", partitions)
        return context.sql(sql_of(asked, fusion_literal)).to_arrow_table()


class Daft:
    def __init__(self):
        import logging

        logging.getLogger("daft").setLevel(logging.ERROR)

    def frame(self, asked):
        import daft
        from daft.io import IOConfig, S3Config

        s3, url = asked.get("s3"), asked["url"]
        config = None
        if s3 is not None:
            config = IOConfig(
                s3=S3Config(
                    endpoint_url=s3["endpoint"], region_name=s3["region"], key_id=s3["accessKeyId"],
                    access_key=s3["secretAccessKey"], use_ssl=False, force_virtual_addressing=False,
                )
            )  # fmt: skip
        if asked["layout"] == "delta":
            return daft.read_deltalake(url, version=asked.get("version"), io_config=config)
        return daft.read_parquet(url + "/*/*/*.parquet", hive_partitioning=True, io_config=config)

    def read(self, asked):
        from daft import col, lit

        frame, what = self.frame(asked), asked["what"]
        times = [col("timestamp").min().alias("first"), col("timestamp").max().alias("last")]
        if what == "totals":
            counts = [col("timestamp").count("all").alias("n"), col("long_value").sum().alias("longs")]
            more = [col("double_value").sum().alias("doubles"), col("json_value").count().alias("texts")]
            frame = frame.groupby("vessel", "date", "time_series_id").agg(*counts, *more, *times)
        elif what == "whole":
            longs = [col("long_value").min().alias("least_long"), col("long_value").max().alias("most_long")]
            series = [col("time_series_id").count_distinct().alias("series")]
            series.append(col("time_series_id").min().alias("least_series"))
            frame = frame.agg(col("timestamp").count("all").alias("n"), *series, *times, *longs)
        elif what == "count":
            where = asked["where"]
            value = lit(python_value(where))
            frame = frame.where(compare(col(where["column"]), where, value)).agg(col("vessel").count("all").alias("n"))
        return frame.to_arrow()


ENGINES = {
    "duckdb": ("duckdb", DuckDb),
    "delta-rs": ("deltalake", DeltaRs),
    "polars": ("polars", Polars),
    "pyarrow": ("pyarrow", PyArrow),
    "datafusion": ("datafusion", DataFusion),
    "daft": ("daft", Daft),
}

if __name__ == "__main__":
    package, engine = ENGINES[sys.argv[1]]
    serve(package, engine().read)
