"""Reads what it is asked on stdin, a line of JSON each, and answers in a line each: see sql-parsers.ts."""
import json
import logging
import sys

import jinja2
import sqlglot
from sqlglot.tokens import TokenType

# It says of statements that it only half knows that it does.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
TEXTS = {TokenType.STRING, TokenType.IDENTIFIER, TokenType.NATIONAL_STRING, TokenType.HEX_STRING}


def parse(asked):
    dialect = sqlglot.Dialect.get_or_raise(asked["dialect"])
    sql = asked["sql"]
    statements = [one for one in sqlglot.parse(sql, read=dialect) if one is not None]
    loose = [token.text for token in dialect.tokenize(sql) if token.token_type not in TEXTS]
    return {
        "statements": len(statements),
        # Of each: its kind, and of what it could not read more than its first word.
        "kinds": [type(one).__name__ for one in statements],
        "marked": [text for text in loose if asked["marker"] in text.lower()],
        "texts": [node.this for one in statements for node in one.find_all(sqlglot.exp.Literal) if node.is_string],
    }


def render(asked):
    """As dbt has it: what a template calls is told, and what is not there is a fault."""
    called = []

    def telling(name):
        def call(*arguments):
            called.append([name, *map(str, arguments)])
            return asked["relations"].get("/".join(map(str, arguments)), f"<{name}>")

        return call

    environment = jinja2.Environment(
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], undefined=jinja2.StrictUndefined
    )
    names = ["ref", "source", "env_var", "var", "run_query", "log", "config", "print"]
    text = environment.from_string(asked["template"]).render({name: telling(name) for name in names})
    return {"text": text, "called": called}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"parse": parse, "render": render}[asked["what"]](asked)
    except Exception as error:  # whatever it is, a test is told
        answer = {"fault": f"{type(error).__name__}: {error}"[:2000]}
    print(json.dumps(answer), flush=True)
