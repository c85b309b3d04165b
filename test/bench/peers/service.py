"""What the scripts share: a session with a token and retries, the vessels, the names of series, and the hours of a day."""

import os
from datetime import datetime, timedelta

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

BASE = os.environ["QUERY_BASE_URL"]


def session() -> requests.Session:
    answer = requests.post(
        os.environ["QUERY_AUTH_URL"] + "/oauth2/token",
        auth=(os.environ["QUERY_CLIENT_ID"], os.environ["QUERY_CLIENT_SECRET"]),
        data={"grant_type": "client_credentials"},
    )
    answer.raise_for_status()
    s = requests.Session()
    s.headers["Authorization"] = "Bearer " + answer.json()["access_token"]
    s.headers["x-api-version"] = "2026-09-10"
    retry = Retry(total=8, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504])
    s.mount("http://", HTTPAdapter(max_retries=retry, pool_maxsize=8))
    return s


def series_by_vessel(s: requests.Session) -> dict[str, dict[str, str]]:
    """Vessel -> id of a series -> its name."""
    answer = s.get(f"{BASE}/metadata/flat/*/*")
    answer.raise_for_status()
    vessels: dict[str, dict[str, str]] = {}
    for one in answer.json():
        vessels.setdefault(one["id"].split("/")[0], {})[one["timeSeriesId"]] = one["id"]
    return vessels


def pages(s: requests.Session, vessel: str, date: str, hours: int):
    """The readings of a vessel and a day as NDJSON, some hours at a time."""
    start = datetime.fromisoformat(date)
    for hour in range(0, 24, hours):
        begin, end = (start + timedelta(hours=h) for h in (hour, hour + hours))
        answer = s.get(
            f"{BASE}/measurements/flat/{vessel}/*",
            params={
                "from": f"{begin:%Y-%m-%dT%H:%M:%SZ}",
                "to": f"{end:%Y-%m-%dT%H:%M:%SZ}",
                "format": "ndjson",
                "output_domain": "id",
            },
        )
        answer.raise_for_status()
        yield answer.content
