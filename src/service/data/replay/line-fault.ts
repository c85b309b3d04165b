/** What is wrong with a line: what was found, and what was expected. Its place is told by who reads the file. */
export class LineFault extends Error {
  readonly found: string;
  readonly expected: string;
  constructor(found: string, expected: string) {
    super(`found ${found}, expected ${expected}`);
    this.found = found;
    this.expected = expected;
  }
}
