/** The settings that `init` needs, from its options, the environment, or questions at the terminal. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { usageError } from '../../core/errors.ts';
import { type Environment, readEnvironment } from '../../runtime/config/environment.ts';
import { VARIABLES } from '../../runtime/config/variables.ts';
import type { Prompt } from '../terminal/prompt.ts';
import { paint, type Screen, writeText } from '../terminal/screen.ts';

interface Question {
  readonly name: string;
  readonly text: string;
  /** Not echoed; its option names a file. */
  readonly isSecret?: boolean;
  /** The answer of Enter if there is no value yet. */
  readonly fallback?: () => string;
  readonly isOptional?: boolean;
  readonly isAsked?: (values: Values) => boolean;
}

export type Values = Readonly<Record<string, string>>;

function ofS3(name: string, text: string): Question {
  return { name, text, isOptional: true, isAsked: ({ LAKE_URL = '' }) => LAKE_URL.startsWith('s3://') };
}

const isAzure = ({ LAKE_URL = '' }: Values) => /^(az|abfss):/.test(LAKE_URL);

/** By what each is called in the options of the command. */
const QUESTIONS = {
  baseUrl: {
    name: 'QUERY_BASE_URL',
    text: 'Address of the query service, with its tenant segment (https://api.example.com/my-tenant)',
  },
  authUrl: {
    name: 'QUERY_AUTH_URL',
    text: 'Address that gives access tokens, without /oauth2/token (https://auth.example.com)',
  },
  clientId: { name: 'QUERY_CLIENT_ID', text: 'Client id' },
  clientSecretFile: { name: 'QUERY_CLIENT_SECRET', text: 'Client secret', isSecret: true },
  lakeUrl: {
    name: 'LAKE_URL',
    text: 'Where the lake is to be: a folder, s3://bucket/prefix or az://container/prefix',
    fallback: () => pathToFileURL(resolve('lake')).href,
  },
  awsEndpoint: ofS3('AWS_ENDPOINT_URL_S3', "Address of the S3 store (Enter: Amazon's)"),
  awsRegion: ofS3('AWS_REGION', 'Region (Enter: as AWS tools find it)'),
  awsAccessKeyId: ofS3('AWS_ACCESS_KEY_ID', 'Access key id (Enter: as AWS tools find it)'),
  awsSecretFile: {
    ...{ name: 'AWS_SECRET_ACCESS_KEY', text: 'Secret access key', isSecret: true },
    isAsked: ({ AWS_ACCESS_KEY_ID }) => AWS_ACCESS_KEY_ID !== undefined,
  },
  azureAccount: {
    ...{ name: 'AZURE_STORAGE_ACCOUNT', text: 'Storage account', isOptional: true },
    isAsked: ({ LAKE_URL = '' }) => LAKE_URL.startsWith('az:'),
  },
  azureKeyFile: {
    name: 'AZURE_STORAGE_KEY',
    text: 'Key of the storage account (Enter: an identity, as Azure tools find it)',
    ...{ isSecret: true, isOptional: true, isAsked: isAzure },
  },
} as const satisfies Record<string, Question>;
type QuestionOption = keyof typeof QUESTIONS;

export type InitAnswers = { readonly [option in QuestionOption]?: string } & {
  readonly allowHttp?: boolean;
};

/** Variables that `init` writes: other lines of a `.env` stay as they are. */
export const INIT_VARIABLES: readonly string[] = [
  ...Object.values<Question>(QUESTIONS).flatMap(({ name, isSecret }) =>
    isSecret ? [name, `${name}_FILE`] : [name],
  ),
  'QUERY_ALLOW_HTTP',
];

/** The settings to write. Without a prompt it throws ConfigError `usage` that lists what is missing or cannot be used. */
export async function askSettings(
  options: InitAnswers,
  env: Environment,
  prompt: Prompt | undefined,
  screen: Screen,
): Promise<Values> {
  const values: Record<string, string> = {};
  const faults: string[] = [];
  const allowed = options.allowHttp === true ? '1' : env.QUERY_ALLOW_HTTP;
  if (allowed) values.QUERY_ALLOW_HTTP = allowed;
  for (const [option, question] of Object.entries<Question>(QUESTIONS)) {
    if (question.isAsked?.(values) === false) continue;
    const given = options[option as QuestionOption];
    const known = knownOf(question, given, env);
    if (known !== undefined && (given !== undefined || prompt === undefined)) Object.assign(values, known);
    else if (prompt !== undefined) await askOne(question, known, env, values, prompt, screen);
    else if (question.fallback !== undefined) values[question.name] = question.fallback();
    else if (question.isOptional !== true) {
      const inEnvironment = question.isSecret ? `${question.name} in the environment` : question.name;
      const flag = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      faults.push(`${question.name}: not known, expected --${flag}, or ${inEnvironment}`);
    }
    const fault = faultOf(question.name, values, env);
    if (fault !== undefined) faults.push(fault);
  }
  if (faults.length > 0)
    throw usageError(
      `${faults.join('\n')}\nIn a terminal 'vessel-export init' asks for the missing settings.`,
    );
  return values;
}

/** From the option, which for a secret names a file, or from the environment. */
function knownOf({ name, isSecret }: Question, given: string | undefined, env: Environment) {
  if (given !== undefined) return isSecret ? { [`${name}_FILE`]: given } : { [name]: asWritten(name, given) };
  if (isSecret && env[`${name}_FILE`]) return { [`${name}_FILE`]: env[`${name}_FILE`]! };
  return env[name] ? { [name]: env[name] } : undefined;
}

async function askOne(
  { name, text, isSecret = false, isOptional = false, fallback }: Question,
  known: Values | undefined,
  env: Environment,
  values: Record<string, string>,
  prompt: Prompt,
  screen: Screen,
): Promise<void> {
  const offered = known ?? (fallback === undefined ? undefined : { [name]: fallback() });
  const shown = isSecret ? 'as it is set' : Object.values(offered ?? {})[0];
  for (;;) {
    const question = offered === undefined ? `${text}: ` : `${text} [${shown}]: `;
    const typed = await prompt.ask(question, { isSecret });
    const answer = typed === '' ? offered : { [name]: asWritten(name, typed) };
    if (answer === undefined && isOptional) return;
    const fault =
      answer === undefined ? `${name}: expected an answer` : faultOf(name, { ...values, ...answer }, env);
    if (fault === undefined) return void Object.assign(values, answer);
    const [, allowed] = /QUERY_ALLOW_HTTP=(\S+)$/.exec(fault) ?? [];
    if (allowed && (await prompt.confirm(`${fault}. Send them in clear all the same?`, false))) {
      Object.assign(values, answer, { QUERY_ALLOW_HTTP: allowed });
      return;
    }
    writeText(screen, `${paint(screen, 'yellow', fault)}\n`);
  }
}

/** A folder may be written as one. */
function asWritten(name: string, text: string): string {
  if (name !== 'LAKE_URL' || /^[a-z][a-z0-9+.-]*:/i.test(text)) return text;
  return pathToFileURL(resolve(text)).href;
}

/** The fault of one value, by the rules of the settings. */
function faultOf(name: string, values: Values, env: Environment): string | undefined {
  const others = VARIABLES.map((variable) => variable.name).filter((one) => one !== name);
  const isSet = (values[name] ?? values[`${name}_FILE`]) !== undefined;
  if (!isSet || others.length === VARIABLES.length) return undefined;
  const own = { ...values, QUERY_ALLOW_HTTP: values.QUERY_ALLOW_HTTP ?? env.QUERY_ALLOW_HTTP };
  const { faults } = readEnvironment(own, new Set(others));
  return faults.find((fault) => fault.startsWith(name))?.replace(' (environment)', '');
}
