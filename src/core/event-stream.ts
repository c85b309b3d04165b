/** Streams of events: each is told by its kind, and a listener passes over kinds that it does not know. */

/** An event of any stream. */
type AnyEvent = { readonly kind: string };

export type EventStream<Event extends AnyEvent> = ReturnType<typeof createEventStream<Event>>;

/** One stream: what is emitted goes to every listener of that moment, in the order in which they came. */
export function createEventStream<Event extends AnyEvent>() {
  const listeners: ((event: Event) => void)[] = [];
  return {
    emit(event: Event): void {
      for (const listener of listeners) listener(event);
    },
    listen: (listener: (event: Event) => void) => void listeners.push(listener),
  };
}

/** A listener that does something at some kinds of events. */
export function onKinds<Event extends AnyEvent>(
  actions: {
    readonly [K in Event['kind']]?: (event: Extract<Event, { readonly kind: K }>) => void;
  },
): (event: Event | AnyEvent) => void {
  const byKind = new Map(Object.entries(actions) as [string, (event: Event | AnyEvent) => void][]);
  return (event) => byKind.get(event.kind)?.(event);
}
