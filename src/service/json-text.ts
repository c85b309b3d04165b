/** JSON numbers as text: the service decides what reads as floating point and what as integer. */

/** A JSON number that reads as floating point: `600` → `600.0`, `1e21` → `1e+21`. The value must be finite. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return /[.eE]/.test(text) ? text : `${text}.0`;
}

/** A JSON value as text; undefined fields are left out. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value);
}
