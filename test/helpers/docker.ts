/** Containers for tests, where a Docker engine answers. */
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { messageOf } from '../../src/core/errors.ts';
import type { ComposeService } from './compose-file.ts';
import { environmentOf, plain, secretFiles } from './compose-file.ts';

/**
 * Start a foreign service of docker-compose.yml in a container and wait until it listens on `port`. Undefined where
 * no engine answers; where one does but cannot start it (no image, no network) that is said, and undefined too.
 */
export async function startContainer(service: ComposeService, port: number) {
  if (!(await dockerAnswers())) return undefined;
  const { image } = service;
  if (image === undefined) throw new Error('only services with an image of their own can be started');
  const { GenericContainer } = await import('testcontainers');
  try {
    const files = secretFiles();
    const made = new GenericContainer(image)
      .withCommand(service.command.map(plain))
      .withEnvironment(environmentOf(service))
      .withBindMounts(
        (service.secrets ?? []).map((name) => ({
          source: files[name]!,
          target: `/run/secrets/${name}`,
          mode: 'ro',
        })),
      )
      .withTmpFs(Object.fromEntries((service.tmpfs ?? []).map((text) => text.split(':') as [string, string])))
      .withExposedPorts(port);
    if (service.entrypoint !== undefined) made.withEntrypoint([...service.entrypoint]);
    if (service.user !== undefined) made.withUser(service.user);
    const container = await made.start();
    return {
      host: container.getHost(),
      port: container.getMappedPort(port),
      stop: async () => void (await container.stop()),
    };
  } catch (error) {
    process.stderr.write(
      `\n*** A Docker engine answers, but ${image} cannot be started: ${messageOf(error)} ***\n\n`,
    );
    return undefined;
  }
}

const DOCKER_SOCKET = '/var/run/docker.sock';

/** Does an engine answer on the address that DOCKER_HOST names, or on the usual socket? */
async function dockerAnswers(): Promise<boolean> {
  const host = process.env.DOCKER_HOST || `unix://${DOCKER_SOCKET}`;
  const socketPath = host.startsWith('unix://') ? host.slice('unix://'.length) : undefined;
  if (socketPath !== undefined && !existsSync(socketPath)) return false;
  const where = socketPath !== undefined ? { socketPath } : new URL(host.replace(/^tcp:/, 'http:'));
  return new Promise((resolve) => {
    const asked = request({
      ...('socketPath' in where ? where : { host: where.hostname, port: where.port }),
      path: '/_ping',
      timeout: 2_000,
    });
    asked.on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
    asked.end();
  });
}
