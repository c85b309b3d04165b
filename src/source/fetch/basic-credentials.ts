/**
 * Client id and secret as HTTP Basic. The contract shows them as they are; RFC 6749 §2.3.1 has them percent-encoded before,
 * which servers that decode need where they hold `%`, `+` and the like. Nobody tells which is meant but by refusing: the
 * plain form goes first, and the other once, so that nobody is locked out sooner for having two. Afterwards the forms take
 * turns, one at each refusal, until one has worked; that one stays.
 */
export class BasicCredentials {
  /** Never to be shown. */
  readonly secrets: readonly string[];
  readonly #forms: readonly string[];
  readonly #refused = new Set<number>();
  #hasWorked = false;
  #at = 0;

  constructor(clientId: string, clientSecret: string) {
    const pairs = [
      [clientId, clientSecret],
      [percentEncoded(clientId), percentEncoded(clientSecret)],
    ];
    const forms = pairs.map((pair) => Buffer.from(pair.join(':'), 'utf8').toString('base64'));
    this.#forms = [...new Set(forms)];
    this.secrets = [...pairs.map(([, secret]) => secret!), ...forms];
  }

  /** The form to send next. */
  get form(): string {
    return this.#forms[this.#at]!;
  }

  accepted(): void {
    this.#hasWorked = true;
  }

  /** The form was refused. True where another is to be tried at once. */
  refused(): boolean {
    this.#refused.add(this.#at);
    this.#at = (this.#at + 1) % this.#forms.length;
    return !this.#hasWorked && !this.#refused.has(this.#at);
  }
}

/** With `%20` and not `+` for a space: whoever decodes understands it, as a form or as a URL. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
