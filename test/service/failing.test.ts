/** What a client is told of a fault of the service: that there is one, and nothing of it. */
import { expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import type { ServiceHooks } from '../../src/service/hooks.ts';
import { basic, CLIENT, openHookedService, VESSEL } from './running-service.ts';

const BODY = '{"error":"the service failed to respond; try again, or inform its operator"}';
const WHAT = `cannot read '/srv/lake/data.parquet' with ${CLIENT.clientSecret}`;
const FAULTS: Readonly<Record<string, () => unknown>> = {
  'an error': () => new Error(WHAT),
  'one with a status of its own': () =>
    Object.assign(new Error(WHAT), { statusCode: 503, headers: { 'x-why': WHAT } }),
  'one with a cause': () => new TypeError(WHAT, { cause: new Error(WHAT) }),
  'what is no error': () => WHAT,
};

/** Fails all but tokens before the first piece, or `atOnce`, before there is a body. */
function failing(fault: () => unknown, atOnce: boolean): ServiceHooks {
  return {
    intercept(exchange) {
      if (exchange.request.family === 'token') return exchange.body();
      if (atOnce) throw fault();
      return (async function* (): AsyncGenerator<string> {
        if (atOnce) yield '';
        throw fault();
      })();
    },
  };
}

test.each(Object.keys(FAULTS).flatMap((name) => [true, false].map((atOnce) => [name, atOnce] as const)))(
  '%s (at once: %s) is a 500 that says nothing of it',
  async (name, atOnce) => {
    const logged: string[] = [];
    const log = { ...silentLog, error: (fields: object) => void logged.push(JSON.stringify(fields)) };
    await using s = await openHookedService({ log, hooks: failing(FAULTS[name]!, atOnce) });
    const response = await s.get(`/metadata/flat/${VESSEL}/*`);
    expect(response.status).toBe(500);
    expect(await response.text()).toBe(BODY);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(JSON.stringify([...response.headers])).not.toMatch(/srv|parquet|stack| at /);
    expect(JSON.stringify([...response.headers])).not.toContain(CLIENT.clientSecret);
    // Its operator finds it by the number that the client was given.
    expect(logged.join()).toContain(response.headers.get('x-request-id'));
    expect(logged.join()).toContain('/srv/lake');
    expect(logged.join()).not.toContain(basic(CLIENT.clientId, CLIENT.clientSecret));
  },
);
