/** JSON that keeps every number as it was spelled: an integer beyond 2^53, `5` against `5.0`. */

/** What Node's JSON has and TypeScript's library does not know yet. */
interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}
const json = JSON as unknown as JsonWithSource;

export function parseJson(text: string): unknown {
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' ? json.rawJSON(source) : value,
  );
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value);
}

export function rawNumber(text: string): unknown {
  return json.rawJSON(text);
}

/** The spelling of a number, or undefined for anything else. */
export function numberText(value: unknown): string | undefined {
  return json.isRawJSON(value) ? value.rawJSON : undefined;
}
