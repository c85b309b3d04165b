/** What a view is given, and gives. `app.js` mounts the one that the address names. */
import type { SessionAnswer } from '../answers.ts';

export interface ViewContext {
  /** Named groups of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Of the address; change it with `navigate`. */
  readonly query: URLSearchParams;
  readonly session: SessionAnswer;
  readonly api: Api;
  /** Another address of the page. `replace`: without a step back to this one, and without mounting anew when the path is the same. */
  navigate(url: string, options?: { readonly replace?: boolean }): void;
  /** Tell those who listen instead of looking (a polite live region). */
  announce(text: string): void;
  /** Aborted when the view is left. */
  readonly signal: AbortSignal;
}

export interface Api {
  /** JSON of a path such as `/api/about`. Throws ApiError for other answers than 2xx. */
  get<T>(path: string, options?: { readonly signal?: AbortSignal }): Promise<T>;
  /** The same with a JSON body; what acts needs it. */
  post<T>(path: string, body: unknown, options?: { readonly signal?: AbortSignal }): Promise<T>;
}

export interface View {
  /** Groups are `params`. */
  readonly path: RegExp;
  /** Of the document; and the text of the heading that gets the focus. */
  title(params: Readonly<Record<string, string>>): string;
  /** Fill `root`; listeners end with `context.signal`. */
  mount(root: HTMLElement, context: ViewContext): void | Promise<void>;
}
