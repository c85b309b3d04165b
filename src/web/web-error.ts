/** A question to the page's server that is not answered: with the status of HTTP that says why. */
import { VesselExportError } from '../core/errors.ts';

/** `status` 4xx or 5xx. The message is shown to who asked: what was found, what was expected, what to do next. */
export class WebError extends VesselExportError {
  readonly status: number;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}
