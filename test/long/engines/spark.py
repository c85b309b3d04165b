"""Spark with Delta: `spark.py`, then questions as in common.py. SPARK_JARS: the folder of what it needs beside itself."""
import glob
import os

from pyspark.sql import SparkSession

from common import serve
from readers import TOTALS, WHOLE


def session():
    jars = ",".join(sorted(glob.glob(os.environ["SPARK_JARS"] + "/*.jar")))
    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.memory": "2g",
        # The lakes are small: what prepares a plan for large ones takes most of the time.
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": os.environ["SPARK_SCRATCH"],
        "spark.local.dir": os.environ["SPARK_SCRATCH"],
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={os.environ['SPARK_SCRATCH']}",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def quoted(text):
    """A backslash begins an escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(where):
    kind, value = where["kind"], where["value"]
    casts = {"long": "BIGINT", "double": "DOUBLE", "date": "DATE"}
    if kind == "time":
        return f"timestamp_micros({value})"
    return f"CAST('{value}' AS {casts[kind]})" if kind in casts else quoted(value)


class Spark:
    def __init__(self):
        self.spark = session()
        self.table = None

    def read(self, asked):
        spark, s3 = self.spark, asked.get("s3")
        url = asked["url"].replace("s3://", "s3a://")
        if s3 is not None:
            hadoop = spark.sparkContext._jsc.hadoopConfiguration()
            for name, value in {
                "endpoint": s3["endpoint"],
                "endpoint.region": s3["region"],
                "access.key": s3["accessKeyId"],
                "secret.key": s3["secretAccessKey"],
                "path.style.access": "true",
                "connection.ssl.enabled": "false",
            }.items():
                hadoop.set(f"fs.s3a.{name}", value)
        # Until another table is asked for: opening one takes seconds. Of a folder whose files change it is another.
        table = (url, asked["layout"], asked.get("version"))
        if table != self.table or asked["what"] == "rows":
            self.open(asked, url)
            self.table = table
        return spark.sql(self.sql(asked)).toArrow()

    def open(self, asked, url):
        reader = self.spark.read
        if asked["layout"] == "delta":
            if "version" in asked:
                reader = reader.option("versionAsOf", asked["version"])
            frame = reader.format("delta").load(url)
        else:
            frame = reader.option("mergeSchema", True).parquet(url)
        frame.createOrReplaceTempView("t")

    def sql(self, asked):
        what, where = asked["what"], asked.get("where")
        if what == "count":
            return f"SELECT count(*) AS n FROM t WHERE `{where['column']}` {where['op']} {literal(where)}"
        sql = {"totals": TOTALS, "whole": WHOLE, "rows": "SELECT * FROM t"}[what]
        return sql.replace('"', "`")


if __name__ == "__main__":
    engine = Spark()
    serve("pyspark", engine.read)
    engine.spark.stop()
