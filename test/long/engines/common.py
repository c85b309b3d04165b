"""What each reader here does with a question: a line of JSON in, a line of JSON out. See reader.ts."""
import datetime
import json
import struct
import sys
from importlib.metadata import version

import pyarrow as pa


def cell(value, kind):
    """As truth.ts has it; None where there is nothing."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return "Dnan" if value != value else "D" + struct.pack(">d", value).hex()
    if pa.types.is_timestamp(kind):
        return f"T{value}"
    if isinstance(value, datetime.date):
        return "S" + value.isoformat()
    if isinstance(value, str):
        return "S" + value
    return f"L{int(value)}"


def plain(column):
    """A column whose values Python takes without loss: a time as a number of microseconds."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        return column.type, column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    return column.type, column.to_pylist()


def rows(table):
    table = pa.table(table)
    columns = [plain(table.column(name)) for name in table.column_names]
    return {
        "columns": table.column_names,
        "types": [str(kind) for kind, _ in columns],
        "rows": [[cell(values[n], kind) for kind, values in columns] for n in range(table.num_rows)],
    }


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


NUMBERS = {"long": int, "double": float}


def serve(package, read):
    """`read(asked)` answers an Arrow table; `package` is the one whose version is told."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"version": version(package)} if asked["what"] == "version" else rows(read(asked))
        except BaseException as error:  # Rust panics are no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            answer = {"fault": f"{type(error).__name__}: {error}"[:3000]}
        print(json.dumps(answer), flush=True)
