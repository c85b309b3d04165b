"""Lines of NDJSON as an Arrow table, for the scripts with pyarrow and dlt."""

import orjson
import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("time_series_id", pa.string()),
        ("id", pa.string()),
        ("long_value", pa.int64()),
        ("double_value", pa.float64()),
        ("json_value", pa.string()),
    ]
)


def to_table(body: bytes, names: dict[str, str]) -> pa.Table:
    # pyarrow.json reads no column that is a number here and a text there, so the lines are read one by one.
    times, ids, longs, doubles, texts = [], [], [], [], []
    for line in body.splitlines():
        reading = orjson.loads(line)
        value = reading["value"]
        kind = type(value)
        times.append(reading["timestamp"])
        ids.append(reading["id"])
        longs.append(value if kind is int else None)
        doubles.append(value if kind is float else None)
        texts.append(None if kind is int or kind is float else orjson.dumps(value).decode())
    return pa.table(
        [
            pa.array(times, pa.string()).cast(SCHEMA.field("timestamp").type),
            pa.array(ids, pa.string()),
            pa.array([names.get(i) for i in ids], pa.string()),
            pa.array(longs, pa.int64()),
            pa.array(doubles, pa.float64()),
            pa.array(texts, pa.string()),
        ],
        schema=SCHEMA,
    )
