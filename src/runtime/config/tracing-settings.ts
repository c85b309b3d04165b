import type { Settings, VariableName } from './variables.ts';

/** Where spans are sent. */
export interface TracingSettings {
  readonly url: string;
  /** They may hold secrets. A function where they may change. */
  readonly headers: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
}

type TracingVariables = Pick<
  Settings,
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_HEADERS'
  | 'OTEL_SDK_DISABLED'
>;

/** Undefined: nothing is traced. By OpenTelemetry's rule the address for traces is taken as it is. */
export function tracingSettings(settings: Partial<TracingVariables>) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = settings;
  const url = own ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || settings.OTEL_SDK_DISABLED) return undefined;
  const setting = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const headers = Object.fromEntries(settings.OTEL_EXPORTER_OTLP_HEADERS ?? []);
  return { setting, url, headers } as const satisfies TracingSettings & { setting: VariableName };
}
