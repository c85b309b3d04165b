/** JSON that is one line for `readline`, which ends lines at these two also. */
export function asLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`);
}
