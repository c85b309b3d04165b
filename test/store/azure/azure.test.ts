import { afterAll, beforeAll, describe } from 'vitest';
import { createAzureStore } from '../../../src/store/azure/azure.ts';
import { ACCOUNT, type Azurite, azuriteForTests, KEY } from '../../helpers/azurite.ts';
import { describeStore } from '../conformance.ts';

const start = azuriteForTests();

describe.skipIf(start === undefined)('Azure', () => {
  let azurite: Azurite;
  beforeAll(async () => {
    azurite = await start!();
  });
  afterAll(() => azurite?.stop());

  describeStore('Azure', async () => {
    const container = await azurite.newContainer();
    const { endpoint } = azurite;
    const url = `az://${container}/lake/ö=1`;
    const options = { account: ACCOUNT, endpoint, secret: { key: KEY }, container, url };
    return {
      open: () => createAzureStore({ ...options, prefix: 'lake/ö=1', pageSize: 40 }),
      ...{ minPartBytes: 1, strict: false, keepsLateParts: true, manyObjects: 203, drop: async () => {} },
    };
  });
});
