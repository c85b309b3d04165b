/** The two parts of undici that are used: all of it takes a third of a command's start. */
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';

  // biome-ignore lint/style/noDefaultExport: it is theirs
  export default Agent;
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  const request: (
    this: Dispatcher,
    options: Dispatcher.DispatchOptions & Dispatcher.RequestOptions,
  ) => Promise<Dispatcher.ResponseData>;
  // biome-ignore lint/style/noDefaultExport: it is theirs
  export default request;
}
